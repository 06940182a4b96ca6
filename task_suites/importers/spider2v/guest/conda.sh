# conda as upstream's scripts use it: `conda activate NAME` puts the programs of an installed tool environment first.

_conda_folder() {
    local name=${1:-base} alias folder
    alias=$(sed -n "s/^$name //p" /opt/deskgym/spider2v/environments/* 2>/dev/null | head -n 1)
    for folder in "/opt/deskgym/env/${alias:-$name}" "/home/user/anaconda3/envs/$name"; do
        if [ -d "$folder" ]; then echo "$folder"; return 0; fi
    done
    if [ "$name" = base ]; then echo /home/user/anaconda3; return 0; fi
    echo "EnvironmentNameNotFound: Could not find conda environment: $name" >&2
    [ -n "$SPIDER2V_LOG" ] && echo "conda activate $name: there is no such environment" >> "$SPIDER2V_LOG"
    return 1
}

_conda_names() {
    {
        ls /opt/deskgym/env /home/user/anaconda3/envs 2>/dev/null | grep -v ':$'
        cut -d' ' -f1 /opt/deskgym/spider2v/environments/* 2>/dev/null
    } | grep . | sort -u
}

conda() {
    local folder name
    case "$1" in
    activate)
        name=${2:-base}
        folder=$(_conda_folder "$name") || return 1
        [ -n "$CONDA_PREFIX" ] && conda deactivate
        export CONDA_PREFIX=$folder CONDA_DEFAULT_ENV=$name _CONDA_PATH=$PATH
        export PATH=$folder/bin:$PATH
        [ -n "$PS1" ] && PS1="($name) $PS1"
        return 0
        ;;
    deactivate)
        [ -n "$CONDA_PREFIX" ] || return 0
        export PATH=$_CONDA_PATH
        PS1=${PS1#"($CONDA_DEFAULT_ENV) "}  # of a shell started by another one, it has no such beginning
        unset CONDA_PREFIX CONDA_DEFAULT_ENV _CONDA_PATH
        ;;
    create)
        while [ $# -gt 0 ] && [ "$1" != -n ] && [ "$1" != --name ]; do shift; done
        [ -n "$2" ] || { echo "conda create needs -n NAME" >&2; return 1; }
        _conda_names | grep -qxF "$2" || python3 -m venv --without-pip "/home/user/anaconda3/envs/$2"
        ;;
    env | info)
        echo "# conda environments:"
        echo "#"
        for name in base $(_conda_names); do
            printf '%-22s %s %s\n' "$name" "$([ "$name" = "$CONDA_DEFAULT_ENV" ] && echo '*' || echo ' ')" "$(_conda_folder "$name")"
        done
        ;;
    --version | -V)
        echo "conda 24.1.2"
        ;;
    *)
        echo "conda $1: not supported here: there is no network" >&2
        return 1
        ;;
    esac
}
