"""Exit codes shared by the commands (0 and 1 are the verdicts' own: verdict.exit_code)."""

USAGE_OR_TOOL_ERROR = 2
