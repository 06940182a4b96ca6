"""GRPOTrainer itself, with a tiny model of random weights, on the environments."""

import json

import pytest
import torch
from datasets import Dataset
from press_suite import descendants, gone
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from deskgym.trainers.trl import PROMPT, desktop_environment, task_rows
from deskgym.trainers.trl_tables import table_environment, table_rows

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def tokenizer():
    """Bytes and a few hundred merges, with the chat template of Qwen3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    corpus = [PROMPT, json.dumps({"type": "function", "function": {"parameters": {}}}), qwen3_chat_template]
    tokenizer.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=800, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=qwen3_chat_template,
    )


class Scripted(GRPOTrainer):
    """A trainer whose model says what a script gives; all else, the parsing of tool calls too, is TRL's own.

    ``script(environment, k)`` yields the calls of the k-th rollout as (tool, arguments); then it ends its turn.
    """

    def __init__(self, *args, script, **options):
        self.script, self.scripts = script, []
        super().__init__(*args, **options)

    def _generate_single_turn(self, prompt_ids, images, fields, num_generations, has_tool_images=False):
        if len(prompt_ids) == len(self.environments) and not self.scripts:
            self.scripts = [self.script(environment, k) for k, environment in enumerate(self.environments)]
        said = []
        for script in self.scripts:
            call = next(script, None)
            if call is None:
                said.append("Enough.<|im_end|>")
            else:
                said.append(
                    f"<tool_call>\n{json.dumps({'name': call[0], 'arguments': call[1]})}\n</tool_call><|im_end|>"
                )
        assert len(said) == len(prompt_ids)
        self.scripts = [script for script, text in zip(self.scripts, said, strict=True) if "tool_call" in text]
        return [self.processing_class(text)["input_ids"] for text in said], None


def train(tokenizer, tmp_path, factory, rows, trainer_class=GRPOTrainer, **options):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=16384, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    arguments = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none",
        per_device_train_batch_size=2, num_generations=2, learning_rate=1e-2, logging_steps=1, save_strategy="no",
        **({"max_completion_length": 8192, "max_steps": 1} | options.pop("config", {})),
    )  # fmt: skip
    trainer = trainer_class(
        model=Qwen3ForCausalLM(config), processing_class=tokenizer, args=arguments, environment_factory=factory,
        train_dataset=Dataset.from_list(rows), **options,
    )  # fmt: skip
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    moved = any(not torch.equal(before[name], weight) for name, weight in trainer.model.named_parameters())
    return trainer, [entry for entry in trainer.state.log_history if "reward" in entry], moved


def test_a_fault_is_left_out_of_the_group(tokenizer, tmp_path):
    def script(environment, k):
        if k == 1:
            environment._session.desktop.machine.stop()
            yield "click", {"x": 1, "y": 1}
        else:
            yield "click", {"x": 1, "y": 1}
            yield "click", {"x": -1, "y": 1}  # off the screen
            yield "answer", {"text": "7"}

    factory = desktop_environment("test/Press-v0", action="computer")
    rows = [row | {"task": "fake/press#7"} for row in task_rows("fake/press", seeds=[0, 0])]
    trainer, (log,), _ = train(tokenizer, tmp_path, factory, rows, Scripted, script=script)
    assert [environment.get_reward() for environment in trainer.environments] == [1.0, None]
    assert log["reward"] == log["rewards/ComputerToolEnv/mean"] == 1.0
    assert log["tools/call_frequency"] == 2.0 and log["tools/failure_frequency"] == 0.5


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_conversation_about_tables_is_played_by_its_tools(tokenizer, tmp_path):
    def script(environment, k):
        for text in environment._session.desktop.oracle() if k == 0 else ("1 / 0", "DONE"):
            yield ("done", {}) if text == "DONE" else ("run_code", {"code": text})

    before = descendants()
    rows = table_rows("penguins/ines/normal/mean-mass", seeds=[1, 1], split="train")
    trainer, (log,), _ = train(tokenizer, tmp_path, table_environment(), rows, Scripted, script=script)
    assert [environment.get_reward() for environment in trainer.environments] == [1.0, 0.0]
    assert log["rewards/TableToolEnv/mean"] == 0.5 and log["tools/call_frequency"] == 2.0
    first, second = (environment._session.desktop.task.id for environment in trainer.environments)
    assert first == second and gone(before)


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_random_model_generates_and_is_scored_on_the_real_program(tokenizer, tmp_path):
    before = descendants()
    factory = desktop_environment(action="code", screen_size=(1280, 720), text_limit=1000)
    rows = task_rows("kalgebra/plot-2d", seeds=[1, 2], split="train")
    trainer, log, _ = train(tokenizer, tmp_path, factory, rows, config={"max_completion_length": 8, "max_steps": 2})
    assert [entry["rewards/CodeToolEnv/mean"] for entry in log] == [0.0, 0.0]
    first, second = (environment._session.desktop for environment in trainer.environments)
    assert first.stats["episodes"] == second.stats["episodes"] == 2
    assert first.task.id == second.task.id and first.task.split == "train"
    assert gone(before)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("action", ["code", "computer"])
def test_the_tools_of_a_rollout_earn_the_reward_that_moves_the_model(tokenizer, tmp_path, action):
    def script(environment, k):
        if k == 1:
            return
        for move in environment._session.desktop.oracle():
            if action == "code":
                yield ("done", {}) if move == "DONE" else ("run_code", {"code": move})
            else:
                told = move.to_dict()
                name = {"type": "type_text", "press": "press_keys"}.get(told["action"], told["action"])
                if name == "press_keys":
                    yield name, {"keys": "+".join(told["keys"])}
                else:
                    names = {"click": ("x", "y", "button", "clicks"), "type_text": ("text",), "done": ()}[name]
                    yield name, {name: told[name] for name in names}

    before = descendants()
    factory = desktop_environment(action=action, screen_size=(1280, 720), text_limit=1000)
    rows = task_rows("kalgebra/plot-2d", seeds=[1], split="train")
    trainer, (log,), moved = train(tokenizer, tmp_path, factory, rows * 2, Scripted, script=script)
    assert log["tools/failure_frequency"] == 0 and log["tools/call_frequency"] >= 1
    assert log[f"rewards/{type(trainer.environments[0]).__name__}/mean"] == 0.5
    assert [environment.get_reward() for environment in trainer.environments] == [1.0, 0.0]
    assert moved and gone(before)
