import { Alert, Box, Group, SegmentedControl, Stack, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { numberProps } from "../../forms/number-props.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { ErrorNote } from "../../parts/states.tsx";
import { issuesBelow } from "./draft.ts";
import { DryRunPanel } from "./dry-run-panel.tsx";
import { RawJson } from "./raw-json.tsx";
import { StepsEditor } from "./steps-editor.tsx";
import type { DraftState } from "./use-draft.ts";
import { useDryRun } from "./use-dry-run.ts";

interface BuilderProps {
  host: string;
  title: string;
  state: DraftState;
  /** Fields next to the steps. */
  head: ReactNode;
  /** Save and other actions. */
  buttons: ReactNode;
  error: Error | null;
}

const RULES = rulesOf("Recipe");
/** A login recipe has the same. */
export const DEFAULT_TIMEOUT_S = Number(RULES.timeout_s.default);
export const TIMEOUT_PROPS = {
  ...numberProps(RULES.timeout_s),
  placeholder: String(DEFAULT_TIMEOUT_S),
};

/** A list of steps with everything needed to write and try it: as forms or JSON, next to a live browser. */
export function Builder({ host, title, state, head, buttons, error }: BuilderProps) {
  const [view, setView] = useState("steps");
  const { draft, refuse } = state;
  const timeout_s = Number(draft.head.timeout_s) || DEFAULT_TIMEOUT_S;
  const dry = useDryRun(timeout_s, (step, issues) => {
    const index = draft.steps.findIndex(({ key }) => key === step.key);
    refuse(
      issuesBelow(issues, "body", "actions", 0).map(({ loc, msg }) => ({
        loc: ["actions", index, ...loc],
        msg,
      })),
    );
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="How it is written"
            value={view}
            onChange={setView}
            data={[
              { value: "steps", label: "Steps" },
              { value: "json", label: "JSON" },
            ]}
          />
          {buttons}
        </Group>
      </Group>
      {error && <ErrorNote error={error} title="It was not saved" />}
      {state.issues.length > 0 && !error && (
        <Alert color="red" role="alert">
          The API rejected it: see the marked fields.
        </Alert>
      )}
      <div className="builder" ref={state.element}>
        <Box miw={0}>
          {view === "json" ? (
            <RawJson state={state} />
          ) : (
            <Stack gap="sm">
              {head}
              <Title order={3} size="h5">
                Steps
              </Title>
              <StepsEditor state={state} dry={dry} />
            </Stack>
          )}
        </Box>
        <DryRunPanel host={host} steps={draft.steps} dry={dry} />
      </div>
    </Stack>
  );
}
