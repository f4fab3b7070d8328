import type { HttpRequest } from "../../api/http-message.ts";
import { managerName } from "../../registry/write-options.ts";
import type { WriteOptions } from "../../registry/write-options.ts";

/** The field manager of a write: the parameter, else the client program's name. */
export function requestManager(request: HttpRequest, { fieldManager }: Pick<WriteOptions, "fieldManager">): string {
  const [userAgent = ""] = [request.headers["user-agent"] ?? []].flat();
  return managerName(fieldManager, Buffer.from(userAgent, "latin1").toString("utf8"));
}
