"""Several processes that sample together: what travels between them, how they meet, and who watches them."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.distributed._agreement import check_agreement as check_agreement
    from geodrift.distributed._join import agree as agree
    from geodrift.distributed._join import join as join
    from geodrift.distributed._join import leave as leave
    from geodrift.distributed._place import Place as Place
    from geodrift.distributed._place import find_place as find_place
    from geodrift.distributed._supervisor import RESTARTS as RESTARTS
    from geodrift.distributed._supervisor import End as End
    from geodrift.distributed._supervisor import supervise as supervise
    from geodrift.distributed._team import Alone as Alone
    from geodrift.distributed._team import LostProcess as LostProcess
    from geodrift.distributed._team import Team as Team
    from geodrift.distributed._worker import be_worker as be_worker

__getattr__, __all__ = lazy(__name__, __file__)
