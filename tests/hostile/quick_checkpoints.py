"""The command line; GEODRIFT_TEST_QUICK makes chunks short and puts a checkpoint after each.

Files beyond so many bytes fail, as on a full disk, where the variable GEODRIFT_TEST_FILE_SIZE says how many.
"""

import os
import resource

import geodrift_command

if __name__ == "__main__":
    geodrift_command.end_at_signals()
    limit = os.environ.get("GEODRIFT_TEST_FILE_SIZE")
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    if os.environ.get("GEODRIFT_TEST_QUICK"):
        from geodrift.driver import _pace, _record

        _record.CHECKPOINT_SECONDS, _record.CHECKPOINT_SHARE = 0.02, 1e9
        _pace.CHUNK_SECONDS = 0.02
    geodrift_command.main()
