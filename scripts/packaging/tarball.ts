import { join } from "node:path";
import { defaultUser, ROLES, unitFile, unitText } from "#hub/program/commands/install/roles.ts";
import { tarballName } from "#shared/protocol/release-files.ts";
import { completionsOf, type Packed, pack, readRoot, type StagedFile, writeTree } from "./stage.ts";

const INSTALL = `Flotilla is the one executable "flotilla"; everything else here is beside it.

    ./flotilla dev                        try it: hub and worker in one process
    sudo ./flotilla install hub --now     a service of this machine: user, unit, environment file
    ./flotilla doctor worker              what this machine lacks for browsers
    ./flotilla guide                      the documentation

completions/  for bash, zsh and fish
man/          flotilla.1
systemd/      the units that "flotilla install" writes
`;

async function filesOf({ executable, notices }: Packed): Promise<StagedFile[]> {
  const units = ROLES.map((role) => ({
    path: join("systemd", unitFile({ role, instance: null })),
    body: unitText(role, defaultUser(role)),
  }));
  return [
    { path: "flotilla", body: { file: executable }, mode: 0o755 },
    { path: "INSTALL", body: INSTALL },
    { path: "LICENSE", body: await readRoot("LICENSE") },
    { path: "CHANGELOG.md", body: await readRoot("CHANGELOG.md") },
    { path: "THIRD-PARTY-NOTICES", body: notices },
    { path: "completions/flotilla.bash", body: completionsOf.bash() },
    { path: "completions/_flotilla", body: completionsOf.zsh() },
    { path: "completions/flotilla.fish", body: completionsOf.fish() },
    { path: "man/flotilla.1", body: await readRoot("hub/program/flotilla.1") },
    ...units,
  ];
}

/**
 * Packs one directory into `to`: the same executable gives the same bytes.
 * @param scratch an empty directory for the tree
 * @returns the name of the file
 */
export async function packTarball(
  packed: Packed,
  target: string,
  to: string,
  scratch: string,
): Promise<string> {
  const dir = `flotilla-${packed.name}-${target}`;
  const file = tarballName(packed.name, target);
  await writeTree(join(scratch, dir), await filesOf(packed));
  const owners = ["--owner=0", "--group=0", "--numeric-owner"];
  const times = ["--sort=name", `--mtime=${packed.released_at}`];
  const argv = ["tar", "--create", "--format=ustar", "--use-compress-program=gzip -6n"];
  await pack(
    [...argv, ...owners, ...times, "--file", join(to, file), "--directory", scratch, dir],
    packed.released_at,
  );
  return file;
}
