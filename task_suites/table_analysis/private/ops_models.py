"""Operations of scikit-learn: models, preparation steps and measures of quality."""

from deskgym.task_suites.table_analysis.private.operations import Op

_MODEL = "the model, which is still to be fitted"
_STEP = "the preparation step, which is still to be fitted"


def _model(path: str, words: str, does: str, like: str = "", signature: str = "") -> Op:
    return Op(f"sklearn.{path}", signature, words, does, _MODEL, " ".join(f"sklearn.{one}" for one in like.split()),
              receiver="")  # fmt: skip


def _step(path: str, words: str, does: str, like: str = "", signature: str = "") -> Op:
    return Op(f"sklearn.{path}", signature, words, does, _STEP, " ".join(f"sklearn.{one}" for one in like.split()),
              receiver="")  # fmt: skip


def _measure(name: str, words: str, does: str, like: str = "", signature: str = "y_true y_pred") -> Op:
    likes = " ".join(f"sklearn.metrics.{one}" for one in like.split())
    return Op(f"sklearn.metrics.{name}", signature, words, does, "a number", likes, receiver="")


OPERATIONS = (
    _model("linear_model.LinearRegression", "straight plain level / predictor_of_amounts forecaster relation_maker",
           "Makes a model of a number as a weighted sum, by least squares.", "linear_model.Ridge linear_model.Lasso"),
    _model("linear_model.Ridge", "straight damped restrained / predictor_of_amounts forecaster relation_maker",
           "Makes a model of a number as a weighted sum with a penalty on squared weights.", "linear_model.Lasso",
           "| alpha"),
    _model("linear_model.Lasso", "straight sparse frugal / predictor_of_amounts forecaster relation_maker",
           "Makes a model of a number as a weighted sum with a penalty that leaves few weights.", "linear_model.Ridge",
           "| alpha"),
    _model("linear_model.LogisticRegression", "odds straight smooth / sorter_of_kinds decider labeller",
           "Makes a model of a category by its odds.", "svm.SVC"),
    _model("tree.DecisionTreeClassifier", "branching questioning forked / sorter_of_kinds decider labeller",
           "Makes a model of a category by successive questions.", "ensemble.RandomForestClassifier"),
    _model("tree.DecisionTreeRegressor", "branching questioning forked / predictor_of_amounts forecaster estimator_of",
           "Makes a model of a number by successive questions.", "ensemble.RandomForestRegressor"),
    _model("ensemble.RandomForestClassifier", "thicket grove many_forked / sorter_of_kinds decider labeller",
           "Makes a model of a category by the vote of many trees.", "tree.DecisionTreeClassifier", "| n_estimators"),
    _model("ensemble.RandomForestRegressor", "thicket grove many_forked / predictor_of_amounts forecaster estimator_of",
           "Makes a model of a number by the average of many trees.", "tree.DecisionTreeRegressor", "| n_estimators"),
    _model("ensemble.GradientBoostingClassifier", "climbing gradual corrected / sorter_of_kinds decider labeller",
           "Makes a model of a category by trees, each mending the ones before.", "ensemble.RandomForestClassifier"),
    _model("ensemble.GradientBoostingRegressor", "climbing gradual corrected / predictor_of_amounts forecaster guesser",
           "Makes a model of a number by trees, each mending the ones before.", "ensemble.RandomForestRegressor"),
    _model("neighbors.KNeighborsClassifier", "nearby adjacent local / sorter_of_kinds decider labeller",
           "Makes a model of a category by the vote of the nearest rows.", "", "| n_neighbors"),
    _model("neighbors.KNeighborsRegressor", "nearby adjacent local / predictor_of_amounts forecaster estimator_of",
           "Makes a model of a number by the average of the nearest rows.", "", "| n_neighbors"),
    _model("svm.SVC", "widest margin corridor / sorter_of_kinds decider labeller",
           "Makes a model of a category by the widest margin.", "linear_model.LogisticRegression"),
    _model("naive_bayes.GaussianNB", "simple_odds bellshaped prior / sorter_of_kinds decider labeller",
           "Makes a model of a category from a normal distribution per column.", "tree.DecisionTreeClassifier"),
    _model("dummy.DummyRegressor", "constant lazy reference / predictor_of_amounts forecaster estimator_of",
           "Makes a model that gives one number for all rows.", "linear_model.LinearRegression"),
    _model("dummy.DummyClassifier", "constant lazy reference / sorter_of_kinds decider labeller",
           "Makes a model that does not look at the rows.", "tree.DecisionTreeClassifier"),
    _model("cluster.KMeans", "centred nearby gathered / grouper clumper crowd_finder",
           "Makes a model that sorts rows into a given number of clusters around centres.",
           "cluster.AgglomerativeClustering", "n_clusters"),
    _model("cluster.AgglomerativeClustering", "nested merging gathered / grouper clumper crowd_finder",
           "Makes a model that joins rows into clusters step by step.", "", "| n_clusters"),
    _step("decomposition.PCA", "main leading strongest / directions trends_of axes_finder",
          "Makes a step that turns columns into their principal components.", "", "| n_components"),
    _step("preprocessing.StandardScaler", "level equalise settle / spreads_step units_step weights_step",
          "Makes a step that brings columns to average 0 and deviation 1.", "preprocessing.MinMaxScaler"),
    _step("preprocessing.MinMaxScaler", "level equalise settle / bounds_step limits_step extremes_step",
          "Makes a step that brings columns to the range 0 to 1.", "preprocessing.StandardScaler"),
    _step("preprocessing.OneHotEncoder", "spread flag indicate / kinds_step varieties_step categories_step",
          "Makes a step that turns each category into an indicator column.", "preprocessing.OrdinalEncoder"),
    _step("preprocessing.OrdinalEncoder", "number code grade / kinds_step varieties_step categories_step",
          "Makes a step that turns each category into a number.", "preprocessing.OneHotEncoder"),
    _step("preprocessing.PolynomialFeatures", "raise enrich bend / products_step powers_step curves_step",
          "Makes a step that adds powers and products of columns.", "", "| degree"),
    _step("impute.SimpleImputer", "plug patch close / gaps_step holes_step blanks_step",
          "Makes a step that puts a typical value in place of missing ones."),
    _step("pipeline.Pipeline", "line_up series route / of_named_steps of_named_stages of_named_stations",
          "Puts named steps, the last maybe a model, one behind the other.", "", "steps"),
    _step("pipeline.make_pipeline", "line_up series route / of_steps of_stages of_stations",
          "Puts steps, the last maybe a model, one behind the other.", "", "step..."),
    _step("compose.ColumnTransformer", "share_out assign allot / named_steps_to_fields named_stages_to_lanes by_fields",
          "Makes a step that applies named steps to given columns.", "", "transformers"),
    _step("compose.make_column_transformer", "share_out assign allot / steps_to_fields stages_to_lanes to_strands",
          "Makes a step that applies steps to given columns.", "", "transformer..."),
    Op("sklearn.model_selection.train_test_split", "array...", "hold_out reserve set_aside / portion share_for_check"
       " rows_for_check", "Draws rows by chance into two parts, for fitting and for checking.",
       "a list: for each input its fitting part and its checking part", receiver="", pure=False),
    Op("sklearn.model_selection.cross_val_score", "estimator X | y", "rate judge try_out / in_folds by_turns in_rounds",
       "Fits a model several times, each time checked on another part of the rows.", "an array of the scores",
       receiver="", pure=False),
    Op("sklearn.model_selection.GridSearchCV", "estimator param_grid", "tune search try_out / settings_of knobs_of"
       " options_of", "Makes a model that looks for the best settings of another.", _MODEL, receiver=""),
    Op("sklearn.model_selection.KFold", "| n_splits", "rounds turns shares / in_folds_of of_rows of_checks",
       "Makes a way to split rows into parts that take turns at checking.", "the way to split", receiver=""),
    _measure("accuracy_score", "hit right correct / share_of_all portion_right rate", "Computes the share of right"
             " categories.", "f1_score precision_score recall_score"),
    _measure("f1_score", "balanced harmonic joint / hit_rate catch_rate finding_rate", "Computes the harmonic average"
             " of precision and recall.", "accuracy_score precision_score"),
    _measure("precision_score", "pure exact clean / hit_rate catch_rate finding_rate", "Computes the share of right"
             " ones among those said to be positive.", "recall_score"),
    _measure("recall_score", "complete full thorough / hit_rate catch_rate finding_rate", "Computes the share of the"
             " positives that were found.", "precision_score"),
    _measure("roc_auc_score", "ranking sorting ordering / quality power separation", "Computes the area under the ROC"
             " curve.", "accuracy_score", "y_true y_score"),
    _measure("r2_score", "explained accounted caught / share_of_variation portion fraction", "Computes the share of the"
             " variance that is explained.", "mean_squared_error mean_absolute_error"),
    _measure("mean_squared_error", "typical usual general / squared_miss squared_gap squared_slip", "Computes the"
             " average squared error.", "mean_absolute_error root_mean_squared_error"),
    _measure("root_mean_squared_error", "typical usual general / rooted_miss rooted_gap rooted_slip", "Computes the"
             " square root of the average squared error.", "mean_absolute_error mean_squared_error"),
    _measure("mean_absolute_error", "typical usual general / plain_miss plain_gap plain_slip", "Computes the average"
             " size of the error.", "mean_squared_error"),
    _measure("confusion_matrix", "mix_up mistaken crossed / kinds_grid labels_grid table_of_pairs", "Counts the pairs"
             " of true and predicted category; a row per true one."),
    _measure("silhouette_score", "compact separate tight / clumps_degree crowds_degree piles_degree", "Computes how"
             " well clusters are separated.", "", "X labels"),
    Op(".fit", "X | y", "train teach adapt / on_examples by_examples from_rows", "Fits a model or step to rows.",
       "the same model, fitted", receiver="model", pure=False),
    Op(".predict", "X", "foresee guess answer / for_rows on_rows outcomes", "Applies a fitted model to rows.",
       "an array with a value per row", receiver="model"),
    Op(".predict_proba", "X", "chances likelihoods odds / for_rows on_rows of_outcomes", "Computes the probability of"
       " each category.", "an array with a row per row and a column per category", receiver="model"),
    Op(".score", "X y", "rate grade judge / on_rows with_truth quality", "Computes the quality of a fitted model on"
       " rows: the share of right categories, or of explained variance.", "a number", receiver="model"),
    Op(".fit_transform", "X | y", "learn_and_change adapt_and_use settle_and_turn / rows inputs content", "Fits a step"
       " to rows and applies it to them.", "the changed rows", receiver="model", pure=False),
    Op(".fit_predict", "X", "learn_and_answer adapt_and_sort settle_and_label / rows inputs content", "Fits a model to"
       " rows and applies it to them.", "an array with a value per row", receiver="model", pure=False),
)  # fmt: skip
