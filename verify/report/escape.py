"""Escapes text for markdown: models, tokenizers and folders choose strings, and none may act as markup."""

import re
import unicodedata

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~&$])")


def markdown(text: str) -> str:
    """The text as it reads, on one line: markup characters escaped, control and format characters spelled out."""
    spelled = "".join(
        f"U+{ord(char):04X}" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else char
        for char in text
    )
    return _MARKUP.sub(r"\\\1", spelled)
