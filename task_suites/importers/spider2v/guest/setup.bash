# Read by each Bash of a setup's script: notes what fails in it, since upstream's scripts silence their errors.

command_not_found_handle() {
    echo "$1: there is no such command" >> "$SPIDER2V_LOG"
    return 127
}
set -E
trap '_status=$?; case "${BASH_COMMAND%% *}" in cd|mv|cp|unzip|tar|gunzip|mkdir|source|.|conda|dagster|dbt|python) echo "$BASH_COMMAND: ended with $_status" >> "$SPIDER2V_LOG" ;; esac' ERR
