"""What mixtures share: what draws of assignments say of pairs, partitions and the number of clusters."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.clusters._cluster_count import ClusterCount as ClusterCount
    from geodrift.models.clusters._cluster_count import cluster_count as cluster_count
    from geodrift.models.clusters._coclustering import coclustering as coclustering
    from geodrift.models.clusters._membership import membership as membership
    from geodrift.models.clusters._point_partition import point_partition as point_partition

__getattr__, __all__ = lazy(__name__, __file__)
