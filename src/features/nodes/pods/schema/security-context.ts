import { atomicList, boolean, int64, named, string } from "../../../../machinery/schema/schema.ts";
import { omitEmpty, pointer, required, struct } from "../../../../machinery/schema/struct.ts";

const capabilities = struct("v1.Capabilities", "Capabilities that a program gets or loses.", {
  add: omitEmpty(1, atomicList(named(string, "v1.Capability")), "Those that it gets."),
  drop: omitEmpty(2, atomicList(named(string, "v1.Capability")), "Those that it loses."),
});

const seLinuxOptions = struct("v1.SELinuxOptions", "An SELinux label.", {
  user: omitEmpty(1, string, "The label's user."),
  role: omitEmpty(2, string, "The label's role."),
  type: omitEmpty(3, string, "The label's type."),
  level: omitEmpty(4, string, "The label's level."),
});

const windowsSecurityContextOptions = struct("v1.WindowsSecurityContextOptions", "Settings of Windows.", {
  gmsaCredentialSpecName: pointer(1, string, "The name of the GMSA credential spec."),
  gmsaCredentialSpec: pointer(2, string, "The GMSA credential spec itself."),
  runAsUserName: pointer(3, string, "The user's name."),
  hostProcess: pointer(4, boolean, "Whether it runs on the host itself."),
});

const seccompProfile = struct("v1.SeccompProfile", "The system calls that a program may make.", {
  type: required(1, named(string, "v1.SeccompProfileType"), "Localhost, RuntimeDefault or Unconfined."),
  localhostProfile: pointer(2, string, "The file with the profile on the node."),
});

const appArmorProfile = struct("v1.AppArmorProfile", "The AppArmor profile of a program.", {
  type: required(1, named(string, "v1.AppArmorProfileType"), "Localhost, RuntimeDefault or Unconfined."),
  localhostProfile: pointer(2, string, "The name of a profile that the node has loaded."),
});

const sysctl = struct("v1.Sysctl", "A kernel parameter.", {
  name: required(1, string, "The parameter's name."),
  value: required(2, string, "The parameter's value."),
});

export const securityContext = struct("v1.SecurityContext", "The user and privileges of a program.", {
  capabilities: pointer(1, capabilities, "Capabilities that it gets or loses."),
  privileged: pointer(2, boolean, "Whether it is as powerful as root on the node."),
  seLinuxOptions: pointer(3, seLinuxOptions, "The SELinux label."),
  windowsOptions: pointer(10, windowsSecurityContextOptions, "Settings of Windows."),
  runAsUser: pointer(4, int64, "The user id."),
  runAsGroup: pointer(8, int64, "The group id."),
  runAsNonRoot: pointer(5, boolean, "Whether it must not run as root."),
  readOnlyRootFilesystem: pointer(6, boolean, "Whether its root file system can only be read."),
  allowPrivilegeEscalation: pointer(7, boolean, "Whether it can get more rights than its parent."),
  procMount: pointer(9, named(string, "v1.ProcMountType"), "How /proc is mounted: Default or Unmasked."),
  seccompProfile: pointer(11, seccompProfile, "The system calls that it may make."),
  appArmorProfile: pointer(12, appArmorProfile, "The AppArmor profile."),
});

export const podSecurityContext = struct(
  "v1.PodSecurityContext",
  "The user and privileges of all containers that set none themselves.",
  {
    seLinuxOptions: pointer(1, seLinuxOptions, "The SELinux label."),
    windowsOptions: pointer(8, windowsSecurityContextOptions, "Settings of Windows."),
    runAsUser: pointer(2, int64, "The user id."),
    runAsGroup: pointer(6, int64, "The group id."),
    runAsNonRoot: pointer(3, boolean, "Whether the containers must not run as root."),
    supplementalGroups: omitEmpty(4, atomicList(int64), "Further group ids of the first process."),
    supplementalGroupsPolicy: pointer(
      12,
      named(string, "v1.SupplementalGroupsPolicy"),
      "Whether the image's groups count too: Merge or Strict.",
    ),
    fsGroup: pointer(5, int64, "The group id that owns volumes."),
    sysctls: omitEmpty(7, atomicList(sysctl), "Kernel parameters of the Pod's namespaces."),
    fsGroupChangePolicy: pointer(
      9,
      named(string, "v1.PodFSGroupChangePolicy"),
      "When volumes are handed to fsGroup: OnRootMismatch or Always.",
    ),
    seccompProfile: pointer(10, seccompProfile, "The system calls that the containers may make."),
    appArmorProfile: pointer(11, appArmorProfile, "The AppArmor profile."),
    seLinuxChangePolicy: pointer(
      13,
      named(string, "v1.PodSELinuxChangePolicy"),
      "How volumes get the SELinux label: MountOption or Recursive.",
    ),
  },
);
