"""`python -m demaq`"""

from demaq.cli import main

main()
