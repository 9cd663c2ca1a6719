"""Several processes that sample together: what travels between them, how they meet, and who watches them."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.distributed._team import Alone as Alone
    from geodrift.distributed._team import LostProcess as LostProcess
    from geodrift.distributed._team import Team as Team

__getattr__, __all__ = lazy(__name__, __file__)
