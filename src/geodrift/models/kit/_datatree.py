"""Aligned draws of components as an xarray DataTree, with what is known of how far the chains agree."""

from typing import TYPE_CHECKING

import numpy as np

from geodrift.models.kit._agreement import Agreement

if TYPE_CHECKING:
    import xarray as xr


def component_datatree(posterior: "xr.Dataset", agreed: Agreement, component: str) -> "xr.DataTree":
    """The groups ``posterior`` and ``agreement``.

    Args:
        posterior: Draws, [chain, draw, ...], the components of all of them in the order of ``agreed``.
        agreed: How far the chains agree.
        component: The dimension of the components.

    Returns:
        ``agreement`` has ``found`` and ``cosine`` [chain, component], ``shared`` [component], and the
        attributes ``threshold`` and ``chance``; see `Agreement`.
    """
    # Imported here: xarray takes half a second.
    import xarray as xr

    places = {"chain": posterior["chain"].values, component: posterior[component].values}
    told = xr.Dataset(
        {
            "found": (("chain", component), agreed.found),
            "cosine": (("chain", component), agreed.cosines.astype(np.float64)),
            "shared": ((component,), agreed.shared),
        },
        coords=places,
        attrs={"threshold": float(agreed.threshold), "chance": float(agreed.chance)},
    )
    return xr.DataTree.from_dict({"/posterior": posterior, "/agreement": told})
