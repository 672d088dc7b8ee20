import { Anchor, Box, Breadcrumbs, Group, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";

interface PageHeadProps {
  title: string;
  /** Pages above this one, from the top. */
  crumbs?: { title: string; href: string }[];
  /** Before the title. */
  icon?: ReactNode;
  /** One line below. */
  note?: ReactNode;
  /** Beside the title. */
  badges?: ReactNode;
  /** Buttons, at the end of the line. */
  children?: ReactNode;
}

/** Head of every page; names the tab of the browser too. */
export function PageHead({ title, crumbs = [], icon, note, badges, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Flotilla`;
  }, [title]);
  return (
    <Box mb="md">
      {crumbs.length > 0 && (
        <Breadcrumbs mb={4} component="nav" aria-label="Breadcrumb">
          {crumbs.map((crumb) => (
            <Anchor key={crumb.href} component={Link} href={crumb.href} size="sm">
              {crumb.title}
            </Anchor>
          ))}
        </Breadcrumbs>
      )}
      <Group justify="space-between" gap="sm" align="center">
        <Group gap="sm" miw={0} maw="100%">
          <Title order={1} size="h2" className="page-title">
            {icon}
            {title}
          </Title>
          {badges}
        </Group>
        {children && <Group gap="xs">{children}</Group>}
      </Group>
      {note && (
        <Text c="dimmed" size="sm" component="div" mt={4}>
          {note}
        </Text>
      )}
    </Box>
  );
}
