"""The monitor and the engine that a program under evaluation talks to, in this process.

Both have the methods of the gRPC stubs that the SDK would connect to; requests and answers are the SDK's own messages.
A registration is answered as a provider would at preview: inputs come back, everything else is unknown.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf import empty_pb2, json_format, struct_pb2

from sizewell import logs
from sizewell.recording.contents import Unread, kubernetes
from sizewell.recording.evaluate import values
from sizewell.recording.evaluate.answers import offline_answer
from sizewell.recording.evaluate.urns import STACK_TYPE, AliasSpec, alias_urns, urn_of
from sizewell.recording.wire import SIGNATURE, UNKNOWN_MARK
from sizewell.resources.hidden import of_resource
from sizewell.resources.recorded import Hidden, RecordedResource
from sizewell.sdk.runtime import Callbacks, engine_pb2, provider_pb2, read_answer, resource_pb2
from sizewell.sizing.providers import CLOUDS

_FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_INVOKE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_PARAMETERIZATION,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_HOOKS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS,
)


def _chart(arguments: Mapping[str, Any], root: Path) -> Iterable[dict[str, Any]]:
    stated = json.loads(arguments.get("jsonOpts") or "{}")
    return kubernetes.of_resource(
        "kubernetes:helm.sh/v3:Chart", str(stated.get("release_name", "release")), stated, root
    )


_RENDERERS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any], Path], Iterable[dict[str, Any]]]]] = {
    "kubernetes:yaml:decode": (
        ("kubernetes:yaml:ConfigFile", "kubernetes:yaml:ConfigGroup"),
        lambda arguments, _: kubernetes.decoded(arguments.get("text") or ""),
    ),
    "kubernetes:helm:template": (("kubernetes:helm.sh/v3:Chart",), _chart),
    "kubernetes:kustomize:directory": (
        ("kubernetes:kustomize:Directory",),
        lambda arguments, root: kubernetes.kustomization(arguments.get("directory") or "", root),
    ),
}
_OUTPUTS_DIFFER = {cloud.provider.package: cloud.provider.outputs_differ for cloud in CLOUDS.values()}


class Unsupported(Exception):  # noqa: N818 - said to the program as it is
    """The program asks for something that only the engine and its plugins can do."""


class Engine:
    """Keeps what the program logs; debug messages are dropped."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def Log(self, request: engine_pb2.LogRequest) -> empty_pb2.Empty:  # noqa: N802 - the protocol's name
        if request.severity == engine_pb2.ERROR:
            self.errors.append(request.message)
        elif request.severity == engine_pb2.WARNING:
            self.warnings.append(request.message)
        return empty_pb2.Empty()

    def RequirePulumiVersion(self, request: object) -> engine_pb2.RequirePulumiVersionResponse:  # noqa: N802, ARG002
        return engine_pb2.RequirePulumiVersionResponse()


class Monitor:
    """Records registrations of one stack; see the module's docstring."""

    def __init__(
        self,
        *,
        project: str,
        stack: str,
        config: Mapping[str, str],
        answers: Mapping[str, Mapping[str, object]],
        loop: asyncio.AbstractEventLoop,
        narrow: AbstractSet[str] | None,
        root: Path,
    ) -> None:
        self.resources: dict[str, RecordedResource] = {}
        self.order: dict[str, int] = {}
        self.outputs: dict[str, object] = {}
        self.notes: list[str] = []
        self.unanswered: list[str] = []
        self.lookups: list[RecordedResource] = []
        self.hidden: list[Hidden] = []
        self.unread: dict[str, Unread] = {}  # why a renderer has made nothing, by the type of resource that asked
        self.sequence: Callable[[], int] = lambda: len(self.order)
        self.callbacks = Callbacks(self)
        self._project, self._stack, self._config, self._answers = project, stack, config, answers
        self._loop = loop
        self._narrow = narrow
        self._root = root
        self._stack_transforms: list[str] = []
        self._transforms: dict[str, tuple[str, ...]] = {}  # of each resource that declares some, by URN

    # -- the protocol -----------------------------------------------------------------------------------------------

    def GetDeploymentInfo(self, request: object) -> resource_pb2.DeploymentInfo:  # noqa: N802, ARG002
        return resource_pb2.DeploymentInfo(supportedFeatures=_FEATURES)

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceResponse:  # noqa: N802
        place = self.sequence()
        urn = self._urn(request)
        tokens = tuple(callback.token for callback in request.transforms)
        if tokens:
            self._transforms[urn] = tokens
        if request.type != STACK_TYPE:
            request = self._transformed(request)
            urn = self._urn(request)
        if urn in self.resources and UNKNOWN_MARK in urn:  # named after what nobody knows: as many as one shows
            return resource_pb2.RegisterResourceResponse(urn=urn)
        if urn in self.resources:
            raise Unsupported(f"two resources have the same type, name and parent: {urn}\n  fix: rename one of them")
        self.resources[urn] = self._record(urn, request)
        self.order[urn] = place
        if request.remote:
            why = "its provider runs in a process of its own, which offline evaluation does not start"
            self.hidden.append(of_resource(self.resources[urn], why=why))
            return resource_pb2.RegisterResourceResponse(urn=urn)
        answer = values.echo(
            request.object,
            scalars_only=self._narrow is None or request.type in self._narrow,
            without=_OUTPUTS_DIFFER.get(request.type.partition(":")[0], ()),
        )
        if request.type.startswith("kubernetes:") and "metadata" in answer.fields:
            metadata = answer.fields["metadata"]
            if metadata.WhichOneof("kind") == "struct_value" and SIGNATURE not in metadata.struct_value.fields:
                self._complete(metadata.struct_value, request)
        return resource_pb2.RegisterResourceResponse(urn=urn, object=answer)

    def _complete(self, metadata: struct_pb2.Struct, request: Any) -> None:
        """The name and the namespace that the provider gives an object of Kubernetes before it makes it.

        https://www.pulumi.com/docs/iac/concepts/resources/names/#autonaming, and `namespace` of
        https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/#inputs
        """
        if not metadata.fields.keys() & {"name", "generateName"}:
            made = hashlib.sha256(request.name.encode()).hexdigest()[:8]
            metadata["name"] = f"{request.name}-{made}"
        provider = self.resources.get(request.provider.rpartition("::")[0])
        stated = provider.inputs.get("namespace") if provider is not None else None
        if "namespace" not in metadata.fields:
            metadata["namespace"] = stated if isinstance(stated, str) else "default"

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> empty_pb2.Empty:  # noqa: N802
        outputs, _ = values.plain_fields(request.outputs)
        recorded = self.resources.get(request.urn)
        if recorded is None:
            return empty_pb2.Empty()
        if recorded.type == STACK_TYPE:
            self.outputs = outputs
        self.resources[request.urn] = replace(recorded, outputs=outputs)
        return empty_pb2.Empty()

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:  # noqa: N802
        """A resource that exists already and is not this stack's: nothing is recorded, all it knows is unknown."""
        return read_answer(self._urn(request), request.id)

    def ExistsResource(self, request: object) -> resource_pb2.ExistsResourceResponse:  # noqa: N802, ARG002
        return resource_pb2.ExistsResourceResponse(exists=False, unknown=True)

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:  # noqa: N802
        given: Mapping[str, object] | None = self._answers.get(request.tok)
        if given is None and request.tok in _RENDERERS:
            return self._rendered(request)
        if given is None:
            given, note = offline_answer(request.tok, self._config)
            if note and note not in self.notes:
                self.notes.append(note)
        if given is None:
            logs.detail(__name__, "%s: no answer offline: unknown", request.tok)
            self.unanswered.append(request.tok)
            self._asked(request)
            return resource_pb2.ResourceInvokeResponse(unknown=True)
        answer = json_format.ParseDict(dict(given), struct_pb2.Struct())
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})

    def _asked(self, request: Any) -> None:
        """What a cloud is asked: an image of a system that has ended is one, whatever the cloud answers."""
        inputs, secrets = values.plain_fields(request.args)
        name = request.tok.rpartition(":")[2]
        urn = f"{request.tok}#{len(self.lookups)}"
        self.lookups.append(RecordedResource(urn=urn, type=request.tok, name=name, inputs=inputs, secret_paths=secrets))

    def Call(self, request: Any) -> provider_pb2.CallResponse:  # noqa: N802
        """A method runs in a provider: what it answers is unknown, whole, as the SDK reads one unknown field."""
        self.unanswered.append(request.tok)
        answer = json_format.ParseDict({"unknown": UNKNOWN_MARK}, struct_pb2.Struct())
        return provider_pb2.CallResponse(**{"return": answer})

    def _rendered(self, request: Any) -> resource_pb2.ResourceInvokeResponse:
        """The objects that the Kubernetes provider would render for a resource of the program's own process."""
        types, render = _RENDERERS[request.tok]
        try:
            objects = list(render(json_format.MessageToDict(request.args), self._root))
        except Unread as error:
            self.unread.update(dict.fromkeys(types, error))
            objects = []
        answer = json_format.ParseDict({"result": json.loads(json.dumps(objects, default=str))}, struct_pb2.Struct())
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})

    def RegisterStackTransform(self, request: Any) -> empty_pb2.Empty:  # noqa: N802
        self._stack_transforms.append(request.token)
        return empty_pb2.Empty()

    def RegisterStackInvokeTransform(self, request: object) -> empty_pb2.Empty:  # noqa: N802, ARG002
        return empty_pb2.Empty()  # answers do not depend on a call's arguments

    def RegisterResourceHook(self, request: object) -> empty_pb2.Empty:  # noqa: N802, ARG002
        return empty_pb2.Empty()  # hooks run when something is created; nothing is

    def RegisterErrorHook(self, request: object) -> empty_pb2.Empty:  # noqa: N802, ARG002
        return empty_pb2.Empty()

    def RegisterPackage(self, request: resource_pb2.RegisterPackageRequest) -> resource_pb2.RegisterPackageResponse:  # noqa: N802
        return resource_pb2.RegisterPackageResponse(ref=f"{request.name}@{request.version}")

    def SignalAndWaitForShutdown(self, request: object) -> empty_pb2.Empty:  # noqa: N802, ARG002
        return empty_pb2.Empty()

    # -- what is kept -----------------------------------------------------------------------------------------------

    def recorded(self) -> tuple[RecordedResource, ...]:
        """In the order in which the program registered them."""
        return tuple(sorted(self.resources.values(), key=lambda resource: self.order[resource.urn]))

    def _urn(self, request: resource_pb2.RegisterResourceRequest | resource_pb2.ReadResourceRequest) -> str:
        return urn_of(self._stack, self._project, request.type, request.name, parent=request.parent)

    def _record(self, urn: str, request: resource_pb2.RegisterResourceRequest) -> RecordedResource:
        inputs, secrets = values.plain_fields(request.object)
        parent = self.resources.get(request.parent)
        # Both are inherited from the parent where the program says nothing.
        protect = parent is not None and parent.protect
        if request.HasField("protect"):
            protect = request.protect
        retain = parent is not None and parent.retain_on_delete
        if request.HasField("retainOnDelete"):
            retain = request.retainOnDelete
        specs = [
            AliasSpec(urn=alias.urn)
            if alias.urn
            else AliasSpec(
                name=alias.spec.name,
                type=alias.spec.type,
                stack=alias.spec.stack,
                project=alias.spec.project,
                parent=alias.spec.parentUrn,
                no_parent=alias.spec.noParent,
            )
            for alias in request.aliases
        ]
        return RecordedResource(
            urn=urn,
            type=request.type,
            name=request.name,
            inputs=inputs,
            parent=request.parent or None,
            custom=request.custom,
            protect=protect,
            retain_on_delete=retain,
            imported=bool(request.importId),
            aliases=alias_urns(
                specs,
                stack=self._stack,
                project=self._project,
                type_=request.type,
                name=request.name,
                parent=parent,
                extra=tuple(request.aliasURNs),
            ),
            dependencies=tuple(request.dependencies),
            property_dependencies={
                key: tuple(dependencies.urns)
                for key, dependencies in request.propertyDependencies.items()
                if dependencies.urns
            },
            provider=request.provider or None,
            ignore_changes=tuple(request.ignoreChanges),
            delete_before_replace=request.deleteBeforeReplace,
            replace_on_changes=tuple(request.replaceOnChanges),
            replacement_trigger=values.plain(request.replacement_trigger),
            replace_with=tuple(request.replace_with),
            secret_paths=secrets,
            places=self._places(request),
        )

    def _places(self, request: Any) -> tuple[tuple[str, int], ...]:
        """The lines of the program's own files that led to a registration."""
        whole = f"{self._root}{os.sep}"
        steps = [(each.pc.uri, each.pc.line) for each in request.stackTrace.frames if each.pc.uri.startswith(whole)]
        return tuple((file.removeprefix(whole), line) for file, line in steps)

    # -- transforms -------------------------------------------------------------------------------------------------

    def _transformed(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceRequest:
        """The request after its own transforms, those of its parents (nearest first) and the stack's."""
        tokens = [callback.token for callback in request.transforms]
        ancestor = self.resources.get(request.parent)
        while ancestor is not None:
            tokens += self._transforms.get(ancestor.urn, ())
            ancestor = self.resources.get(ancestor.parent or "")
        tokens += self._stack_transforms
        for token in tokens:
            message = resource_pb2.TransformRequest(
                type=request.type,
                name=request.name,
                custom=request.custom,
                parent=request.parent,
                properties=request.object,
                options=_options(request),
            )
            answer = self.callbacks.call(self._loop, token, message.SerializeToString())
            request = _with_answer(request, answer)
        return request


_LISTS = {  # TransformResourceOptions -> RegisterResourceRequest
    "depends_on": "dependencies",
    "ignore_changes": "ignoreChanges",
    "replace_on_changes": "replaceOnChanges",
    "additional_secret_outputs": "additionalSecretOutputs",
    "aliases": "aliases",
}


def _options(request: resource_pb2.RegisterResourceRequest) -> resource_pb2.TransformResourceOptions:
    options = resource_pb2.TransformResourceOptions(
        version=request.version,
        provider=request.provider,
        plugin_download_url=request.pluginDownloadURL,
        deleted_with=request.deletedWith,
        providers=dict(request.providers),
    )
    for ours, theirs in _LISTS.items():
        getattr(options, ours).extend(getattr(request, theirs))
    if request.HasField("protect"):
        options.protect = request.protect
    if request.HasField("retainOnDelete"):
        options.retain_on_delete = request.retainOnDelete
    if request.deleteBeforeReplaceDefined:
        options.delete_before_replace = request.deleteBeforeReplace
    if request.HasField("customTimeouts"):
        options.custom_timeouts.CopyFrom(request.customTimeouts)
    if request.HasField("replacement_trigger"):
        options.replacement_trigger.CopyFrom(request.replacement_trigger)
    return options


def _with_answer(
    request: resource_pb2.RegisterResourceRequest, answer: resource_pb2.TransformResponse
) -> resource_pb2.RegisterResourceRequest:
    changed = resource_pb2.RegisterResourceRequest()
    fields: Any = changed  # the stubs take names of fields as literals alone
    changed.CopyFrom(request)
    changed.object.CopyFrom(answer.properties)
    if not answer.HasField("options"):
        return changed
    options: Any = answer.options
    for ours, theirs in _LISTS.items():
        fields.ClearField(theirs)
        getattr(changed, theirs).extend(getattr(options, ours))
    for ours, theirs in (("provider", "provider"), ("deleted_with", "deletedWith"), ("version", "version")):
        setattr(changed, theirs, getattr(options, ours))
    for ours, theirs in (("protect", "protect"), ("retain_on_delete", "retainOnDelete")):
        fields.ClearField(theirs)
        if options.HasField(ours):
            setattr(changed, theirs, getattr(options, ours))
    # The SDK gives a transform no list of these, so an answer without one takes none away.
    changed.replace_with.extend(urn for urn in options.replace_with if urn not in changed.replace_with)
    if options.HasField("replacement_trigger"):
        changed.replacement_trigger.CopyFrom(options.replacement_trigger)
    changed.deleteBeforeReplaceDefined = options.HasField("delete_before_replace")
    changed.deleteBeforeReplace = options.delete_before_replace
    return changed
