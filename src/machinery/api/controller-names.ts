/** Every loop, by kube-controller-manager's name where it has the same one: what `--controllers` speaks of. */
export const controllerNames = [
  "certificate-inventory",
  "certificate-record-cleaner",
  "clusterrole-aggregation",
  "csrapproving",
  "csrcleaner",
  "csrpolicyapproving",
  "csrsigning",
  "eventcleaner",
  "garbagecollector",
  "namespace",
  "root-ca-cert-publisher",
  "serviceaccount",
  "serviceaccount-token",
  "tokencleaner",
  "trust-bundle-publisher",
  "unsigned-request-reporter",
] as const;

export type ControllerName = (typeof controllerNames)[number];

export const isControllerName = (text: string): text is ControllerName => controllerNames.some((name) => name === text);
