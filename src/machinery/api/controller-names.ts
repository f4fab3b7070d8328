/**
 * The names of all controllers, as `--controllers` takes them. Where kube-controller-manager has the same controller,
 * it has the same name.
 */
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
