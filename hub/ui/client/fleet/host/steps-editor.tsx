import { Button, Group, Menu, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { blankStep, issuesBelow, moved, newStep } from "./draft.ts";
import { KIND_NAMES, KINDS, type Kind } from "./recipe-fields.ts";
import { StepCard } from "./step-card.tsx";
import type { DraftState } from "./use-draft.ts";
import type { DryRun } from "./use-dry-run.ts";

/** The steps in their order: added, moved by buttons, Alt and arrows or the mouse, run one by one. */
export function StepsEditor({ state, dry }: { state: DraftState; dry: DryRun }) {
  const { draft, issues, setSteps, setAction } = state;
  const { steps } = draft;
  const [dragged, setDragged] = useState<number | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const move = (from: number, to: number) => {
    if (to >= 0 && to < steps.length) setSteps(moved(steps, from, to));
  };
  const drop = (to: number) => {
    if (dragged !== null && dragged !== to) move(dragged, to);
    setDragged(null);
    setOver(null);
  };
  const add = (kind: Kind) => setSteps([...steps, blankStep(kind)]);
  return (
    <Stack gap="xs">
      {steps.length === 0 && (
        <Text size="sm" c="dimmed">
          No steps yet: the page is captured as it loads.
        </Text>
      )}
      <Stack
        component="ol"
        gap="xs"
        className="steps"
        aria-label="Steps"
        onDragEnd={() => drop(dragged ?? -1)}
      >
        {steps.map((step, index) => (
          <StepCard
            key={step.key}
            step={step}
            index={index}
            count={steps.length}
            issues={issuesBelow(issues, "actions", index)}
            run={dry.runOf(step)}
            onChange={(action) => setAction(index, action)}
            onMove={(to) => move(index, to)}
            onCopy={() =>
              setSteps(steps.toSpliced(index + 1, 0, newStep(structuredClone(step.action))))
            }
            onRemove={() => setSteps(steps.toSpliced(index, 1))}
            onRun={dry.sid !== null && !dry.busy ? () => void dry.run([step]) : null}
            over={dragged !== null && over === index && dragged !== index}
            onDragStart={() => setDragged(index)}
            onDragOver={() => setOver(index)}
            onDrop={() => drop(index)}
          />
        ))}
      </Stack>
      <Group>
        <Menu position="bottom-start" withinPortal>
          <Menu.Target>
            <Button variant="default" size="xs" leftSection={<IconPlus size={16} />}>
              Add a step
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {KIND_NAMES.map((kind) => (
              <Menu.Item key={kind} onClick={() => add(kind)}>
                <b>{KINDS[kind].title}</b> {KINDS[kind].says}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Group>
    </Stack>
  );
}
