"""From raw Databento files to one continuous series of bars."""
