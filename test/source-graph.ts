/** Reads which file imports what from which other one, and what each file exports, from the text of TypeScript files. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export interface Import {
  /** The imported file, below the root of the repository: `src/pki/pem.ts`. */
  readonly path: string;
  /** `import type`: nothing of it is left when the program runs. */
  readonly isTypeOnly: boolean;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  /** The names that it declares and exports. */
  readonly exports: readonly string[];
}

const root = join(import.meta.dirname, "..");

/** Every TypeScript file of the given folders of the repository, in the order of their paths. */
export const sourceFiles = (...folders: readonly string[]): SourceFile[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .sort()
      .map((file) => {
        const path = `${folder}/${file}`;
        const text = readFileSync(join(root, path), "utf8");
        return { path, text, imports: importsOf(path, text), exports: exportsOf(text) };
      }),
  );

const fromClause = /^(?:import|export) (type )?[^;"]*?from "(\.[^"]+)"/gm;
const wholeImport = /(?:^import |import\()"(\.[^"]+)"/gm;

function importsOf(path: string, text: string): Import[] {
  const target = (specifier: string): string => relative(root, join(root, dirname(path), specifier));
  return [
    ...[...text.matchAll(fromClause)].map(([, type, specifier = ""]) => ({
      path: target(specifier),
      isTypeOnly: type !== undefined,
    })),
    ...[...text.matchAll(wholeImport)].map(([, specifier = ""]) => ({ path: target(specifier), isTypeOnly: false })),
  ];
}

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

const exportsOf = (text: string): string[] => [...text.matchAll(declaration)].map(([, name = ""]) => name);

/** Groups of files that import each other in a circle, each group in the order of its paths. */
export function circles(
  files: readonly SourceFile[],
  { areTypesCounted }: { readonly areTypesCounted: boolean },
): string[][] {
  const targets = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.filter(({ isTypeOnly }) => areTypesCounted || !isTypeOnly).map((one) => one.path),
    ]),
  );
  const reachable = new Map([...targets.keys()].map((path) => [path, reachableFrom(path, targets)]));
  const reaches = (from: string, to: string): boolean => reachable.get(from)?.has(to) === true;
  const grouped = new Set<string>();
  const groups: string[][] = [];
  for (const path of [...targets.keys()].sort()) {
    if (grouped.has(path) || !reaches(path, path)) continue;
    const group = [...targets.keys()].filter((other) => reaches(path, other) && reaches(other, path)).sort();
    for (const member of group) grouped.add(member);
    groups.push(group);
  }
  return groups;
}

function reachableFrom(path: string, targets: ReadonlyMap<string, readonly string[]>): Set<string> {
  const found = new Set<string>();
  const waiting = [...(targets.get(path) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...(targets.get(next) ?? []));
  }
  return found;
}
