"""The errors of the server: every one is a reason of the contract.

    SeedbedError
    ├── InvalidFieldError          a field of the request, by its path
    │   └── TooLargeError          … that is over a limit
    ├── NotFoundError
    │   ├── MemoryNotFoundError
    │   ├── MessageNotFoundError
    │   ├── EntityNotFoundError
    │   ├── TripleNotFoundError
    │   ├── MergeNotFoundError
    │   └── ModelNotFoundError
    ├── ConflictError
    │   ├── MemoryExistsError
    │   ├── MessageIdExistsError
    │   ├── RequestIdReusedError
    │   └── RevisionChangedError
    ├── UnavailableError
    │   ├── StorageFullError
    │   ├── StorageUnavailableError
    │   ├── PartUnavailableError
    │   ├── OverloadedError
    │   └── ShuttingDownError
    ├── UnauthenticatedError
    ├── OperatorOnlyError
    ├── NotServedError
    ├── VariantNotRegisteredError
    ├── ModelUnavailableError
    └── ReembedRunningError

None of them carries text of a user's: what reaches a status or a log is the
class, the path of a field, and words written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SeedbedError(Exception):
    """Base of all errors that a caller is told about.

    ``after_storing`` says that the call had changed what is stored before it
    failed: an import that broke off, or an erasure that a part does not follow.
    """

    after_storing = False


@contextmanager
def stored_already() -> Iterator[None]:
    """Say of every error within that the call had changed what is stored."""
    try:
        yield
    except SeedbedError as error:
        error.after_storing = True
        raise


class InvalidFieldError(SeedbedError):
    """A field of the request is not acceptable.

    ``path`` is the field's path in the request, such as ``messages[2].role``;
    ``why`` is a fixed sentence that holds nothing of the request's content.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class TooLargeError(InvalidFieldError):
    """A field of the request is over a size limit."""


class NotFoundError(SeedbedError):
    """Something addressed is not there, or is not the caller's to see."""


class MemoryNotFoundError(NotFoundError):
    """There is no such memory in the namespaces of the caller."""


class MessageNotFoundError(NotFoundError):
    """The memory holds no such message."""


class EntityNotFoundError(NotFoundError):
    """The memory holds no such entity."""


class TripleNotFoundError(NotFoundError):
    """The memory holds no such fact."""


class MergeNotFoundError(NotFoundError):
    """No such merge is in effect in the memory."""


class ModelNotFoundError(NotFoundError):
    """No manifest names such a model; ``path`` is the field that does."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class ConflictError(SeedbedError):
    """What is stored already stands against the call."""


class MemoryExistsError(ConflictError):
    """A memory of this name exists."""


class MessageIdExistsError(ConflictError):
    """A message id of the batch is taken in this memory; ``path`` says which."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class RequestIdReusedError(ConflictError):
    """The request id was used before with another payload."""


class RevisionChangedError(ConflictError):
    """The memory has changed since the revision that the call names."""


class UnavailableError(SeedbedError):
    """The server cannot do it now; the same call may succeed later."""


class StorageFullError(UnavailableError):
    """The disk is full, or below the free-space floor."""


class StorageUnavailableError(UnavailableError):
    """The log cannot be read or written."""


class PartUnavailableError(UnavailableError):
    """A child process that the answer needs is not running; ``part`` names it."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


class OverloadedError(UnavailableError):
    """Too many calls are under way."""


class ShuttingDownError(UnavailableError):
    """The server is stopping."""


class UnauthenticatedError(SeedbedError):
    """There is no access token, or it is not known."""


class OperatorOnlyError(SeedbedError):
    """The call concerns the whole server, and the token is no operator's."""


class NotServedError(SeedbedError):
    """The call is part of the contract, and not served yet."""


class VariantNotRegisteredError(SeedbedError):
    """No custom variant is registered under this name; ``path`` is the field that names it, ``why`` says which are."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class ModelUnavailableError(SeedbedError):
    """Files of the model are missing."""


class ReembedRunningError(SeedbedError):
    """The server is changing to another model."""
