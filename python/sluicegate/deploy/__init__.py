"""Commands that deploy a scenario's queue discipline on Linux (`linux`, lines for tc) and FreeBSD (`dummynet`)."""

from .access import Access as Access
from .target import Deployment as Deployment
from .target import Undeployable as Undeployable
