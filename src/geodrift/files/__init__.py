"""Files that survive a kill, a full disk and a loss of power: the lowest layer."""

from geodrift.files._atomic import nearest_directory as nearest_directory
from geodrift.files._atomic import new_directory as new_directory
from geodrift.files._atomic import refuse_existing as refuse_existing
from geodrift.files._atomic import replace_file as replace_file
from geodrift.files._atomic import scratch_directory as scratch_directory
from geodrift.files._atomic import sync_directory as sync_directory
from geodrift.files._atomic import sync_tree as sync_tree
from geodrift.files._atomic import write_file as write_file
from geodrift.files._contents import checksum as checksum
from geodrift.files._contents import read_arrays as read_arrays
from geodrift.files._contents import read_json as read_json
from geodrift.files._contents import write_arrays as write_arrays
from geodrift.files._contents import write_json as write_json
from geodrift.files._damage import Damage as Damage
from geodrift.files._full_disk import StorageFullError as StorageFullError
from geodrift.files._full_disk import in_units as in_units
from geodrift.files._full_disk import room_for as room_for
from geodrift.files._sealed import SEAL as SEAL
from geodrift.files._sealed import check_seal as check_seal
from geodrift.files._sealed import read_sealed as read_sealed
from geodrift.files._sealed import sealed as sealed
from geodrift.files._sealed import write_sealed as write_sealed
from geodrift.files._unfinished import remove_unfinished as remove_unfinished
