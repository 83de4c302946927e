"""What texts of a request must look like, and the sentence for one that does not.

Only policies and embedders that read no file and import no code of the caller's may be named over HTTP. All others (a
module of one's own, a folder with a model, a file of vectors) are set on the server itself, with `askless desk`.
"""

from __future__ import annotations

_SHARE = r"0\.[0-9]{0,3}[1-9]"

DESK = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
ID = r"^[^\x00-\x20\x7f-\xa0\u2028\u2029/.][^\x00-\x1f\x7f-\x9f\u2028\u2029/]*$"
LINE = (
    r"^[^\x00-\x1f\x7f-\x9f\s\u202a-\u202e\u2066-\u2069]"
    r"([^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]*[^\x00-\x1f\x7f-\x9f\s\u202a-\u202e\u2066-\u2069])?$"
)
TEXT = r"^[^\x00]*$"
READABLE = r"^[^\x00]*[^\x00-\x1f\x85\s][^\x00]*$"
KEY_NAME = r"^[!-~]([ -~]*[!-~])?$"
CURSOR = r"^[0-9]{1,18}$"
POLICY = (
    r"^(self-tuning|conservative-hull|chc|always-ask"
    rf"|(generalized-hull|ghc|ghc-nearest|similarity-threshold|active-perceptron|amp)(:{_SHARE})?)$"
)
EMBEDDER = r"^(wordllama(:(64|128|256))?|minilm)$"

SENTENCES = {
    DESK: "A desk's name has 1 to 64 letters, digits, dots, dashes and underscores, with a letter or digit first.",
    ID: "An id has no control characters and no slash, and no dot or space at its start.",
    LINE: "A label's name has no control characters, no line breaks, and no white space at its ends.",
    TEXT: "A text has no NUL character: take it out.",
    READABLE: "A text needs something to read in it, and no NUL character.",
    KEY_NAME: "A key's name has 1 to 100 plain characters (ASCII), without white space at its ends.",
    CURSOR: "A cursor is the `next` of the page before, unchanged.",
    POLICY: (
        "Over HTTP a policy is self-tuning, conservative-hull, always-ask, or one of generalized-hull (ghc), "
        "ghc-nearest, similarity-threshold and active-perceptron (amp) with a threshold, as in ghc:0.9. "
        "Others are set on the server: askless desk set."
    ),
    EMBEDDER: (
        "Over HTTP an embedder is wordllama, wordllama:64, wordllama:128, wordllama:256 or minilm. "
        "Others are set on the server: askless desk reembed."
    ),
}
