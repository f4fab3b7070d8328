import type { HealthCheck } from "../machinery/http/health-routes.ts";

/** Fails once the server stops, so that load balancers use another server. */
export const shutdownCheck = (health: { readonly isStopping: boolean }): HealthCheck => ({
  name: "shutdown",
  endpoints: ["readyz"],
  check: () => {
    if (health.isStopping) throw new Error("the server is stopping");
  },
});
