# SPDX-License-Identifier: BSD-3-Clause
"""What a search says, as numbers and text: on which displays and reports stand.

No module here imports matplotlib. The names are shared within accsmbo and are no part
of its public face, so `__all__` is empty.
"""

from accsmbo.inspection._importances import ALTERNATIVE as ALTERNATIVE
from accsmbo.inspection._importances import Importances as Importances
from accsmbo.inspection._importances import importances as importances
from accsmbo.inspection._labels import MANY_LEVELS as MANY_LEVELS
from accsmbo.inspection._labels import format_number as format_number
from accsmbo.inspection._labels import format_value as format_value
from accsmbo.inspection._labels import shorten as shorten
from accsmbo.inspection._labels import tick_labels as tick_labels
from accsmbo.inspection._observed_space import space_of as space_of
from accsmbo.inspection._readout import Readout as Readout
from accsmbo.inspection._readout import as_readout as as_readout
from accsmbo.inspection._readout import is_complete as is_complete
from accsmbo.inspection._readout import is_readable as is_readable
from accsmbo.inspection._slices import Contour as Contour
from accsmbo.inspection._slices import Slice as Slice
from accsmbo.inspection._slices import contour_at as contour_at
from accsmbo.inspection._slices import slice_at as slice_at
from accsmbo.inspection._surface import Surface as Surface
from accsmbo.inspection._surface import fit_surface as fit_surface
from accsmbo.inspection._surface import fit_surfaces as fit_surfaces
from accsmbo.inspection._surface import means_of_points as means_of_points

__all__: list[str] = []
