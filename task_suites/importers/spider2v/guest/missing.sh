#!/bin/bash
# A command that the machine must not take from its host; an app whose tasks have it puts its own in this place.
name=$(basename "$0")
[ -n "$SPIDER2V_LOG" ] && echo "$name: there is no such command" >> "$SPIDER2V_LOG"
echo "bash: $name: command not found" >&2
exit 127
