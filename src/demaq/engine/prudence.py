"""When to begin a batch before the one before it is committed."""

_LONGEST = 255  # batches that are not begun ahead, at most, one after the other


class Prudence:
    """Work that was done for nothing makes prudent: for a batch, then for three, for seven, and so on. It wears off."""

    def __init__(self) -> None:
        self._pause = 0
        self._left = 0  # of the pause

    def allows(self) -> bool:
        """Is another batch to be begun ahead?"""
        self._left = max(0, self._left - 1)
        return self._left == 0

    def note(self, *, is_good: bool) -> None:
        """Was it good to have begun a batch ahead?"""
        self._pause = self._pause // 2 if is_good else min(2 * self._pause + 1, _LONGEST)
        self._left = 0 if is_good else self._pause + 1
