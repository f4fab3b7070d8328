import { documentRoute } from "./document-route.ts";
import type { PathRoutes } from "./path-routes.ts";

/** The Kubernetes release whose API clients may expect. */
const apiMinor = 37;

/** `/version` in Kubernetes' format. Signet's own version follows the plus sign. */
export function versionRoutes(signetVersion: string): PathRoutes {
  const document = {
    major: "1",
    minor: String(apiMinor),
    emulationMajor: "1",
    emulationMinor: String(apiMinor),
    minCompatibilityMajor: "1",
    minCompatibilityMinor: String(apiMinor - 1),
    gitVersion: `v1.${apiMinor}.0+signet-${signetVersion}`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "",
    goVersion: "",
    compiler: "node",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
  return new Map([["/version", documentRoute(document, { isJsonOnly: true })]]);
}
