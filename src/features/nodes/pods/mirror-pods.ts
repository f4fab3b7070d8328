import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";

/** Whether a Pod is the mirror of a static Pod of its node. */
export const isMirrorPod = ({ metadata }: ApiObject, names: Names): boolean =>
  mirrorAnnotations(names).some((key) => Object.hasOwn(metadata.annotations ?? {}, key));

/** The annotations that mark a mirror Pod, one for each spelling. */
export const mirrorAnnotations = (names: Names): readonly string[] =>
  spellingsOf(names, (one) => one.key("config.mirror"));
