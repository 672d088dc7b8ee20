import { Button, Stack } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { bytesText, countText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { ExtensionNote } from "./profiles/extension-note.tsx";
import { ProfileDetail } from "./profiles/profile-detail.tsx";
import { UploadForm } from "./profiles/upload-form.tsx";

const COLUMNS: Column<Profile>[] = [
  {
    key: "name",
    title: "Name",
    width: "minmax(120px, 2fr)",
    cell: (one) => <Clip text={one.name} mono />,
  },
  {
    key: "default",
    title: "For jobs that name none",
    width: "170px",
    cell: (one) => (one.is_default ? "Default" : "–"),
  },
  {
    key: "size",
    title: "Size",
    width: "90px",
    align: "end",
    from: "sm",
    cell: (one) => bytesText(one.size),
  },
  {
    key: "files",
    title: "Files",
    width: "80px",
    align: "end",
    from: "md",
    cell: (one) => countText(one.files),
  },
  {
    key: "updated",
    title: "Stored",
    width: "120px",
    align: "end",
    from: "sm",
    cell: (one) => <Ago at={one.updated_at} />,
  },
];

const UPLOAD = "Upload a profile";

/** Stored browser profiles; `?profile=` and `?upload=1` of the address show one, or the form for a new one, beside them. */
export function Page() {
  const [{ profile, upload }, set] = useFilters({ profile: "", upload: "" });
  const profiles = useGet("/profiles");
  const close = () => set({ profile: "", upload: "" });
  const uploadButton = (
    <Button
      leftSection={<IconUpload size={16} />}
      onClick={() => set({ upload: "1", profile: "" }, { push: true })}
    >
      Upload profile
    </Button>
  );
  const detailOf = (rows: readonly Profile[]) => {
    if (upload)
      return (
        <UploadForm
          names={rows.map(({ name }) => name)}
          onStored={(name) => set({ profile: name, upload: "" })}
        />
      );
    const shown = rows.find(({ name }) => name === profile);
    if (shown) return <ProfileDetail profile={shown} onGone={close} />;
    return profile && <Empty title="There is no profile with this name">It may be deleted.</Empty>;
  };
  return (
    <>
      <PageHead
        title="Profiles"
        count={profiles.data && countText(profiles.data.profiles.length)}
        note="Cookies, saved passwords and settings that a browser starts with; extensions are not loaded. Jobs and sessions choose one with use_profile. Profiles hold logins: they go to workers only and cannot be downloaded."
        primary={uploadButton}
      />
      <Loadable query={profiles}>
        {({ profiles: rows }) => (
          <Beside
            name="profiles"
            detail={detailOf(rows)}
            title={upload ? UPLOAD : profile}
            onClose={close}
          >
            <Stack gap="lg">
              {rows.length === 0 ? (
                <Empty title="There is no profile yet" action={uploadButton}>
                  Until there is one, every browser starts empty. Upload a profile, or save one from
                  a session.
                </Empty>
              ) : (
                <DataTable
                  label="Profiles"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={({ name }) => name}
                  current={profile}
                  onOpen={({ name }) => set({ profile: name, upload: "" }, { push: true })}
                />
              )}
              <ExtensionNote />
            </Stack>
          </Beside>
        )}
      </Loadable>
    </>
  );
}
