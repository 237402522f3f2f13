"""The kinds that an API server has from the start."""

import pytest

from tests.e2e.plane import Plane

#: What `kubectl api-resources` of a kube-apiserver names, `componentstatuses` aside, which it has long given up.
SERVED = """
bindings configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods
podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services
mutatingadmissionpolicies.admissionregistration.k8s.io mutatingadmissionpolicybindings.admissionregistration.k8s.io
mutatingwebhookconfigurations.admissionregistration.k8s.io validatingadmissionpolicies.admissionregistration.k8s.io
validatingadmissionpolicybindings.admissionregistration.k8s.io
validatingwebhookconfigurations.admissionregistration.k8s.io
customresourcedefinitions.apiextensions.k8s.io apiservices.apiregistration.k8s.io
controllerrevisions.apps daemonsets.apps deployments.apps replicasets.apps statefulsets.apps
selfsubjectreviews.authentication.k8s.io tokenreviews.authentication.k8s.io
localsubjectaccessreviews.authorization.k8s.io selfsubjectaccessreviews.authorization.k8s.io
selfsubjectrulesreviews.authorization.k8s.io subjectaccessreviews.authorization.k8s.io
horizontalpodautoscalers.autoscaling cronjobs.batch jobs.batch
certificatesigningrequests.certificates.k8s.io leases.coordination.k8s.io endpointslices.discovery.k8s.io
events.events.k8s.io flowschemas.flowcontrol.apiserver.k8s.io
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
ingressclasses.networking.k8s.io ingresses.networking.k8s.io ipaddresses.networking.k8s.io
networkpolicies.networking.k8s.io servicecidrs.networking.k8s.io runtimeclasses.node.k8s.io
poddisruptionbudgets.policy clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
rolebindings.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io
deviceclasses.resource.k8s.io resourceclaims.resource.k8s.io resourceclaimtemplates.resource.k8s.io
resourceslices.resource.k8s.io priorityclasses.scheduling.k8s.io
csidrivers.storage.k8s.io csinodes.storage.k8s.io csistoragecapacities.storage.k8s.io
storageclasses.storage.k8s.io volumeattachments.storage.k8s.io volumeattributesclasses.storage.k8s.io
"""
#: What a release has beside those.
MORE = {
    "1.36": "",
    "1.37": """
clustertrustbundles.certificates.k8s.io devicetaintrules.resource.k8s.io podcertificaterequests.certificates.k8s.io
storageversionmigrations.storagemigration.k8s.io
""",
}


@pytest.mark.each_release
def test_every_kind_that_a_stock_api_server_has_is_served(plane: Plane) -> None:
    served = set(plane.kubectl("api-resources", "--output=name").split())
    expected = {*SERVED.split(), *MORE[plane.release].split()}
    assert expected - served == set()
    # The real one shows whether the lists above are whole.
    assert not plane.calls_webhooks or served - expected == {"componentstatuses"}
