import type { Names } from "../api/names.ts";
import { apiPathOf } from "../api/resource-type.ts";
import type { DescribedResource } from "../schema/openapi.ts";
import { openApiV2, openApiV3 } from "../schema/openapi.ts";
import { encodeOpenApiV2 } from "../schema/openapi-v2-protobuf.ts";
import type { OpenApiSource } from "./openapi-routes.ts";

export interface OpenApiInput {
  readonly names: Names;
  readonly version: string;
  readonly resources: readonly DescribedResource[];
  readonly reviews: readonly DescribedResource[];
}

/** The OpenAPI documents of the served resources. Each is created on first use. */
export function openApiSource(input: OpenApiInput): OpenApiSource {
  const groupVersions = new Map(
    [...input.resources, ...input.reviews].map(({ group, version }) => [
      apiPathOf({ group, version }).slice(1),
      { group, version },
    ]),
  );
  return {
    groupVersionPaths: [...groupVersions.keys()],
    version3(path) {
      const groupVersion = groupVersions.get(path);
      if (groupVersion === undefined) throw new RangeError(`no API at ${path}`);
      return openApiV3(input, groupVersion);
    },
    version2: () => openApiV2(input),
    version2Protobuf: () => encodeOpenApiV2(openApiV2(input)),
  };
}
