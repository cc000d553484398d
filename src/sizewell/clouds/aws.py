"""AWS, reading only: boto3 clients that refuse every operation which could change something.

Credentials, regions, proxies and base addresses (`AWS_ENDPOINT_URL`, `AWS_ENDPOINT_URL_EC2`) are boto3's own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sizewell import source
from sizewell.clouds.calls import CloudError, Deadline, ProxyError, Reason, Timeouts

if TYPE_CHECKING:
    import boto3

LOG: Final = logging.getLogger(__name__)
READING: Final = ("Describe", "Get", "List", "Head", "BatchGet", "Simulate", "Search", "Lookup")
_LOGIN: Final = {
    *("AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch"),
    *("UnrecognizedClientException", "InvalidAccessKeyId", "RequestExpired", "TokenRefreshRequired"),
}
_DENIED: Final = {
    *("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized", "AuthorizationError"),
    *("AuthorizationErrorException", "403", "Forbidden"),
}
_UNANSWERED: Final = {
    *("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"),
    *("InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable", "500", "503"),
}


class Aws:
    """Clients by service and region, made once each; calls go through `call` and `pages`."""

    cloud: Final = "aws"

    def __init__(self, deadline: Deadline, *, timeouts: Timeouts | None = None, profile: str | None = None) -> None:
        try:
            import boto3
        except ImportError:
            fix = f"run: {source.install('aws')}"
            raise CloudError("aws", "login", "boto3 is not installed", fix=fix, local=True) from None
        import botocore.exceptions
        import botocore.session

        self.deadline, self.timeouts = deadline, timeouts or Timeouts()
        under = botocore.session.get_session()
        under.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
        try:
            self.session: boto3.Session = boto3.Session(botocore_session=under, profile_name=profile)
        except botocore.exceptions.ProfileNotFound as error:
            fix = "set AWS_PROFILE to a profile that exists"
            raise CloudError("aws", "login", str(error), fix=fix, local=True) from error
        self._clients: dict[tuple[str, str], object] = {}
        self._lock = threading.Lock()

    def client(self, service: str, region: str) -> Any:
        """A boto3 client that reads only, made once; making one is not safe in two threads of boto3's session."""
        with self._lock:
            return self._client(service, region)

    def _client(self, service: str, region: str) -> object:
        from botocore.config import Config

        key = (service, region)
        if key not in self._clients:
            config = Config(
                connect_timeout=self.timeouts.connect_s,
                read_timeout=self.timeouts.read_s,
                retries={"mode": "standard", "total_max_attempts": self.timeouts.attempts},
                max_pool_connections=16,
                user_agent_extra="sizewell",
            )
            made = self.session.client  # which looks for credentials, and may ask the machine's own service for them
            client = translated(service, lambda: made(service, region_name=region, config=config))
            client.meta.events.register("before-call", _only_reads)
            client.meta.events.register("before-send", lambda **_: self.deadline.check(service))
            client.meta.events.register_first("needs-retry", _not_again)
            self._clients[key] = client
        return self._clients[key]

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """The answer of one operation, named as the method of the client (`describe_images`). CloudError otherwise."""
        client = self.client(service, region)
        LOG.info("%s %s in %s", service, operation, region)
        return dict(translated(service, lambda: getattr(client, operation)(**parameters)))

    def pages(self, service: str, region: str, operation: str, items: str, **parameters: Any) -> Iterator[Any]:
        """Every item of all pages, by botocore's own paginator where the operation has one."""
        client = self.client(service, region)
        if not client.can_paginate(operation):
            yield from self.call(service, region, operation, **parameters).get(items, [])
            return
        LOG.info("%s %s in %s, all pages", service, operation, region)
        pages = iter(client.get_paginator(operation).paginate(**parameters))
        while (page := translated(service, lambda: next(pages, None))) is not None:
            yield from page.get(items, [])


def _moment(value: Any) -> datetime:
    """A time of an answer, in UTC. botocore's own takes twenty times as long for a number, which is what each sample of
    CloudWatch has, because it asks for the summer time of this machine.
    """
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    from botocore.utils import parse_timestamp

    moment: datetime = parse_timestamp(value)
    return moment


def _only_reads(model: Any, **_: object) -> None:
    if not model.name.startswith(READING):
        raise AssertionError(f"{model.service_model.service_name}:{model.name} is not a read-only call")


def translated(service: str, ask: Callable[[], object]) -> Any:
    from botocore import exceptions, parsers

    try:
        answer = ask()
    except exceptions.ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        message = str(error.response.get("Error", {}).get("Message", ""))
        raise CloudError(service, _reason(code), f"{error.operation_name}: {code}: {message}", code=code) from error
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        fix = "run: aws sso login, or set AWS_PROFILE"
        raise CloudError(service, "login", str(error), fix=fix, local=True) from error
    except (exceptions.TokenRetrievalError, exceptions.SSOError, exceptions.CredentialRetrievalError) as error:
        raise CloudError(service, "login", str(error), fix="run: aws sso login", local=True) from error
    except (exceptions.ParamValidationError, exceptions.NoRegionError) as error:
        raise CloudError(service, "refused", " ".join(str(error).split())) from error
    except (parsers.ResponseParserError, KeyError) as error:  # a proxy's page in place of an answer: no BotoCoreError
        detail = "its answer cannot be read: " + " ".join(str(error).split())[:200]
        raise CloudError(service, "unanswered", detail) from error
    except exceptions.ProxyConnectionError as error:
        proxy = str(error.kwargs.get("proxy_url") or "of HTTPS_PROXY").rpartition("@")[2].rpartition("//")[2]
        raise ProxyError(service, proxy.rstrip("/")) from error
    except (exceptions.PaginationError, exceptions.HTTPClientError, exceptions.BotoCoreError) as error:
        detail = " ".join(str(error).split())[:300]
        raise CloudError(service, "unanswered", detail, local=_no_network(error)) from error
    parts: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    told = parts.get("ResponseMetadata")
    # A proxy's page, which botocore reads as an empty answer; EC2's own are named in their body, others' in a header.
    if told is not None and not told.get("RequestId") and (service == "ec2" or len(parts) == 1):
        raise CloudError(service, "unanswered", "status 200 without a request id: it is not AWS that answers")
    return answer


def _no_network(error: object) -> bool:
    """Whether a call failed because a name is not known or its proxy refuses, which no second attempt mends."""
    from botocore.exceptions import ProxyConnectionError
    from urllib3.exceptions import NameResolutionError

    return isinstance(error, ProxyConnectionError) or isinstance(
        getattr(error, "kwargs", {}).get("error"), NameResolutionError
    )


def _not_again(caught_exception: Any = None, **_: object) -> None:
    """Ends botocore's attempts where there is no network: waiting would only make a person wait."""
    if caught_exception is not None and _no_network(caught_exception):
        raise caught_exception


def _reason(code: str) -> Reason:
    if code in _LOGIN:
        return "login"
    if code in _DENIED:
        return "denied"
    if code in _UNANSWERED:
        return "unanswered"
    missing = ("NotFound", "NoSuch", "DoesNotExist", "NonExistent")
    return "missing" if any(word in code for word in missing) or code == "404" else "refused"
