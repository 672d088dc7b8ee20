import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { PresetEditor } from "./presets/preset-editor.tsx";
import { PresetTable } from "./presets/preset-table.tsx";

const example = () =>
  `curl -sS -X PUT ${location.origin}/presets/long-page -H 'content-type: application/json' ` +
  `-d '{"name": "Long page", "options": {"scroll": true, "scroll_max": 20000}}'`;

/** Options of jobs under names; which one is edited is in the address. */
export function Page() {
  const [{ edit, add }, set] = useFilters({ edit: "", add: "" });
  const query = useGet("/presets");
  const list = () => set({ edit: "", add: "" }, { push: true });
  const create = () => set({ add: "yes" }, { push: true });
  const editing = edit !== "" || add !== "";
  return (
    <>
      <PageHead
        title="Presets"
        crumbs={editing ? [{ title: "Presets", href: "/ui/library/presets" }] : []}
        note="Job options under one name. What a job sets itself takes precedence."
      >
        {!editing && (
          <Button leftSection={<IconPlus size={16} />} onClick={create}>
            New preset
          </Button>
        )}
      </PageHead>
      <Loadable query={query}>
        {({ presets }) => {
          const preset = presets.find(({ slug }) => slug === edit);
          if (add !== "" || preset)
            return (
              <PresetEditor
                key={edit}
                preset={preset}
                taken={presets.map(({ slug }) => slug)}
                onDone={list}
              />
            );
          if (edit !== "")
            return (
              <Empty
                title={`There is no preset ${edit}`}
                action={<Button onClick={list}>All presets</Button>}
              >
                It may have been deleted.
              </Empty>
            );
          if (presets.length === 0)
            return (
              <Empty title="There are no presets yet" command={example()}>
                A preset keeps options that many jobs share.
              </Empty>
            );
          return (
            <PresetTable presets={presets} onEdit={(slug) => set({ edit: slug }, { push: true })} />
          );
        }}
      </Loadable>
    </>
  );
}
