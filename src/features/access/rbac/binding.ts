import { spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { KindFault } from "../../../machinery/registry/definition/kind-faults.ts";
import type {
  Column,
  DefaultsContext,
  UpdateContext,
} from "../../../machinery/registry/definition/resource-definition.ts";
import { validateRbacName } from "./roles.ts";
import { invalidValue, invalidValues, notSupported, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { dnsSubdomainFaults, pathSegmentFaults } from "../../../machinery/api/validation/name-validation.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { atomicList, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { always, atomicStruct, omitEmpty } from "../../../machinery/schema/struct.ts";

const subject = atomicStruct("v1.Subject", "A user, group or service account that a role is granted to.", {
  kind: always(1, string, "User, Group or ServiceAccount.", { isRequired: true }),
  apiGroup: omitEmpty(2, string, "RBAC's group for users and groups, empty for accounts."),
  name: always(3, string, "The name of the subject.", { isRequired: true }),
  namespace: omitEmpty(4, string, "The namespace of a service account."),
});

const roleRef = atomicStruct("v1.RoleRef", "Names the role that a binding grants.", {
  apiGroup: always(1, string, "RBAC's group, which it is without it."),
  kind: always(2, string, "Role or ClusterRole.", { isRequired: true }),
  name: always(3, string, "The name of the role.", { isRequired: true }),
});

export type Subject = Infer<typeof subject>;
export type RoleRef = Infer<typeof roleRef>;

export const roleResourceOf = ({ kind }: RoleRef): string => (kind === "ClusterRole" ? "clusterroles" : "roles");

/** The common part of RoleBinding and ClusterRoleBinding. */
interface Binding extends ApiObject {
  subjects?: Subject[];
  roleRef: RoleRef;
}

export const bindingFields = {
  ...objectFields,
  subjects: omitEmpty(2, atomicList(subject), "The users, groups and service accounts that get the role."),
  roleRef: always(3, roleRef, "The role that is granted. It cannot be changed.", { isRequired: true }),
} as const;

interface BindingKind {
  readonly isNamespaced: boolean;
  /** The name of the binding in column descriptions. */
  readonly bindingName: string;
  readonly roleDescription: string;
}

/** What the definitions of both kinds of binding have in common: defaults, validation and columns. */
export function bindingDefinition(names: Names, { isNamespaced, bindingName, roleDescription }: BindingKind) {
  const rules = { names, isNamespaced };
  return {
    validateName: validateRbacName,
    setDefaults: <T extends Binding>(binding: T, { requestedGroup }: DefaultsContext): T =>
      withDefaultGroups(binding, requestedGroup),
    validate: (binding: Binding) => validateBinding(binding, rules),
    validateUpdate: (next: Binding, { previous }: UpdateContext<Binding>) =>
      validateBindingUpdate(next, { ...rules, previous }),
    allowsCreateOnUpdate: true,
    columns: bindingColumns({ names, bindingName, roleDescription }),
  };
}

/** Fills in the group of roles, users and groups, which a client may leave out. */
function withDefaultGroups<T extends Binding>(binding: T, group: string): T {
  const { roleRef: role, subjects } = binding;
  return {
    ...binding,
    roleRef: role.apiGroup === "" ? { ...role, apiGroup: group } : role,
    ...(subjects !== undefined && {
      subjects: subjects.map((one) =>
        (one.apiGroup ?? "") === "" && (one.kind === "User" || one.kind === "Group")
          ? { ...one, apiGroup: group }
          : one,
      ),
    }),
  };
}

interface BindingRules {
  readonly names: Names;
  readonly isNamespaced: boolean;
}

/** The group of roles, users and user groups, in each spelling. */
const groupsOf = (names: Names): readonly string[] => spellingsOf(names, (one) => one.group("rbac.authorization"));

/** Whether two references are to the same role, in whichever spelling. */
export const isSameRole = (
  one: RoleRef,
  { other, names }: { readonly other: RoleRef; readonly names: Names },
): boolean =>
  names.ownGroup(one.apiGroup) === names.ownGroup(other.apiGroup) && one.kind === other.kind && one.name === other.name;

/** Returns every fault of a binding (upstream: `ValidateRoleBinding`, `ValidateClusterRoleBinding`). */
function validateBinding(binding: Binding, rules: BindingRules): FieldError[] {
  const { apiGroup, kind, name } = binding.roleRef;
  const groups = groupsOf(rules.names);
  const kinds = rules.isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return [
    ...(groups.includes(apiGroup) ? [] : [notSupported("roleRef.apiGroup", { value: apiGroup, supported: groups })]),
    ...(kinds.includes(kind) ? [] : [notSupported("roleRef.kind", { value: kind, supported: kinds })]),
    ...(name === ""
      ? [required("roleRef.name", "")]
      : invalidValues("roleRef.name", { value: name, details: pathSegmentFaults(name) })),
    ...(binding.subjects ?? []).flatMap((one, index) =>
      validateSubject(one, { ...rules, field: `subjects[${index}]` }),
    ),
  ];
}

/** The role of a binding must not change: otherwise a user who may edit subjects could grant any role. */
function validateBindingUpdate(
  next: Binding,
  { previous, ...rules }: BindingRules & { readonly previous: Binding },
): KindFault[] {
  const { apiGroup, kind, name } = next.roleRef;
  return [
    "metadata",
    ...validateBinding(next, rules),
    "metadata change",
    ...(isSameRole(next.roleRef, { other: previous.roleRef, names: rules.names })
      ? []
      : [
          invalidValue("roleRef", {
            value: { APIGroup: apiGroup, Kind: kind, Name: name },
            detail: "cannot change roleRef",
          }),
        ]),
  ];
}

function validateSubject(
  one: Subject,
  { field, names, isNamespaced }: BindingRules & { readonly field: string },
): FieldError[] {
  const { kind, name, apiGroup = "", namespace = "" } = one;
  const faults = name === "" ? [required(`${field}.name`, "")] : [];
  switch (kind) {
    case "ServiceAccount":
      return [
        ...faults,
        ...(name === "" ? [] : invalidValues(`${field}.name`, { value: name, details: dnsSubdomainFaults(name) })),
        ...(apiGroup === "" ? [] : [notSupported(`${field}.apiGroup`, { value: apiGroup, supported: [""] })]),
        ...(isNamespaced || namespace !== "" ? [] : [required(`${field}.namespace`, "")]),
      ];
    case "User":
    case "Group": {
      const groups = groupsOf(names);
      return groups.includes(apiGroup)
        ? faults
        : [...faults, notSupported(`${field}.apiGroup`, { value: apiGroup, supported: groups })];
    }
    default:
      return [
        ...faults,
        notSupported(`${field}.kind`, { value: kind, supported: ["ServiceAccount", "User", "Group"] }),
      ];
  }
}

interface SubjectsColumn {
  readonly name: string;
  /** The kind of the subjects in this column. */
  readonly kind: string;
  /** The name of the binding in upstream's description. */
  readonly bindingName: string;
}

const subjectsColumn = <T extends Binding>({ name, kind, bindingName }: SubjectsColumn): Column<T> => ({
  name,
  description: `${name} in the ${bindingName}`,
  isWide: true,
  cell: ({ subjects = [] }) =>
    subjects
      .filter((one) => one.kind === kind)
      .map((one) => (kind === "ServiceAccount" ? `${one.namespace ?? ""}/${one.name}` : one.name))
      .join(", "),
});

interface BindingColumns {
  readonly names: Names;
  readonly bindingName: string;
  readonly roleDescription: string;
}

const bindingColumns = <T extends Binding>({ names, bindingName, roleDescription }: BindingColumns): Column<T>[] => [
  nameColumn(names),
  {
    name: "Role",
    description: roleDescription,
    cell: ({ roleRef: { kind, name } }) => `${kind}/${name}`,
  },
  ageColumn(names),
  subjectsColumn({ name: "Users", kind: "User", bindingName }),
  subjectsColumn({ name: "Groups", kind: "Group", bindingName }),
  subjectsColumn({ name: "ServiceAccounts", kind: "ServiceAccount", bindingName }),
];
