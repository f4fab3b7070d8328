import { atomicList, boolean, int64, named, object, string } from "../../../machinery/schema/schema.ts";

const capabilities = object({
  goType: "v1.Capabilities",
  description: "Capabilities that a program gets or loses.",
  fields: {
    add: { number: 1, schema: atomicList(named(string, "v1.Capability")), description: "Those that it gets." },
    drop: { number: 2, schema: atomicList(named(string, "v1.Capability")), description: "Those that it loses." },
  },
});

const seLinuxOptions = object({
  goType: "v1.SELinuxOptions",
  description: "An SELinux label.",
  fields: {
    user: { number: 1, schema: string, description: "The label's user." },
    role: { number: 2, schema: string, description: "The label's role." },
    type: { number: 3, schema: string, description: "The label's type." },
    level: { number: 4, schema: string, description: "The label's level." },
  },
});

const windowsSecurityContextOptions = object({
  goType: "v1.WindowsSecurityContextOptions",
  description: "Settings of Windows.",
  fields: {
    gmsaCredentialSpecName: {
      number: 1,
      schema: string,
      presence: "pointer",
      description: "The name of the GMSA credential spec.",
    },
    gmsaCredentialSpec: {
      number: 2,
      schema: string,
      presence: "pointer",
      description: "The GMSA credential spec itself.",
    },
    runAsUserName: { number: 3, schema: string, presence: "pointer", description: "The user's name." },
    hostProcess: {
      number: 4,
      schema: boolean,
      presence: "pointer",
      description: "Whether it runs on the host itself.",
    },
  },
});

const seccompProfile = object({
  goType: "v1.SeccompProfile",
  description: "The system calls that a program may make.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.SeccompProfileType"),
      presence: "always",
      isRequired: true,
      description: "Localhost, RuntimeDefault or Unconfined.",
    },
    localhostProfile: {
      number: 2,
      schema: string,
      presence: "pointer",
      description: "The file with the profile on the node.",
    },
  },
});

const appArmorProfile = object({
  goType: "v1.AppArmorProfile",
  description: "The AppArmor profile of a program.",
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.AppArmorProfileType"),
      presence: "always",
      isRequired: true,
      description: "Localhost, RuntimeDefault or Unconfined.",
    },
    localhostProfile: {
      number: 2,
      schema: string,
      presence: "pointer",
      description: "The name of a profile that the node has loaded.",
    },
  },
});

const sysctl = object({
  goType: "v1.Sysctl",
  description: "A kernel parameter.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The parameter's name." },
    value: { number: 2, schema: string, presence: "always", isRequired: true, description: "The parameter's value." },
  },
});

export const securityContext = object({
  goType: "v1.SecurityContext",
  description: "As whom and with which rights a program runs.",
  fields: {
    capabilities: {
      number: 1,
      schema: capabilities,
      presence: "pointer",
      description: "Capabilities that it gets or loses.",
    },
    privileged: {
      number: 2,
      schema: boolean,
      presence: "pointer",
      description: "Whether it is as powerful as root on the node.",
    },
    seLinuxOptions: { number: 3, schema: seLinuxOptions, presence: "pointer", description: "The SELinux label." },
    windowsOptions: {
      number: 10,
      schema: windowsSecurityContextOptions,
      presence: "pointer",
      description: "Settings of Windows.",
    },
    runAsUser: { number: 4, schema: int64, presence: "pointer", description: "The user id." },
    runAsGroup: { number: 8, schema: int64, presence: "pointer", description: "The group id." },
    runAsNonRoot: { number: 5, schema: boolean, presence: "pointer", description: "Whether it must not run as root." },
    readOnlyRootFilesystem: {
      number: 6,
      schema: boolean,
      presence: "pointer",
      description: "Whether its root file system can only be read.",
    },
    allowPrivilegeEscalation: {
      number: 7,
      schema: boolean,
      presence: "pointer",
      description: "Whether it can get more rights than its parent.",
    },
    procMount: {
      number: 9,
      schema: named(string, "v1.ProcMountType"),
      presence: "pointer",
      description: "How /proc is mounted: Default or Unmasked.",
    },
    seccompProfile: {
      number: 11,
      schema: seccompProfile,
      presence: "pointer",
      description: "The system calls that it may make.",
    },
    appArmorProfile: { number: 12, schema: appArmorProfile, presence: "pointer", description: "The AppArmor profile." },
  },
});

export const podSecurityContext = object({
  goType: "v1.PodSecurityContext",
  description: "As whom and with which rights all containers run, where they say nothing themselves.",
  fields: {
    seLinuxOptions: { number: 1, schema: seLinuxOptions, presence: "pointer", description: "The SELinux label." },
    windowsOptions: {
      number: 8,
      schema: windowsSecurityContextOptions,
      presence: "pointer",
      description: "Settings of Windows.",
    },
    runAsUser: { number: 2, schema: int64, presence: "pointer", description: "The user id." },
    runAsGroup: { number: 6, schema: int64, presence: "pointer", description: "The group id." },
    runAsNonRoot: {
      number: 3,
      schema: boolean,
      presence: "pointer",
      description: "Whether the containers must not run as root.",
    },
    supplementalGroups: {
      number: 4,
      schema: atomicList(int64),
      description: "Further group ids of the first process.",
    },
    supplementalGroupsPolicy: {
      number: 12,
      schema: named(string, "v1.SupplementalGroupsPolicy"),
      presence: "pointer",
      description: "Whether the image's groups count too: Merge or Strict.",
    },
    fsGroup: { number: 5, schema: int64, presence: "pointer", description: "The group id that owns volumes." },
    sysctls: { number: 7, schema: atomicList(sysctl), description: "Kernel parameters of the Pod's namespaces." },
    fsGroupChangePolicy: {
      number: 9,
      schema: named(string, "v1.PodFSGroupChangePolicy"),
      presence: "pointer",
      description: "When volumes are handed to fsGroup: OnRootMismatch or Always.",
    },
    seccompProfile: {
      number: 10,
      schema: seccompProfile,
      presence: "pointer",
      description: "The system calls that the containers may make.",
    },
    appArmorProfile: { number: 11, schema: appArmorProfile, presence: "pointer", description: "The AppArmor profile." },
    seLinuxChangePolicy: {
      number: 13,
      schema: named(string, "v1.PodSELinuxChangePolicy"),
      presence: "pointer",
      description: "How volumes get the SELinux label: MountOption or Recursive.",
    },
  },
});
