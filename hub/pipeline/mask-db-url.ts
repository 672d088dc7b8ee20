/** A database URL without the secrets it may hold. */
export function maskDbUrl(db_url: string): string {
  if (!/^postgres(ql)?:/i.test(db_url)) return db_url;
  if (!URL.canParse(db_url)) return "postgres://***";
  const url = new URL(db_url);
  if (url.password !== "") url.password = "***";
  for (const name of [...url.searchParams.keys()])
    if (/pass|secret|key|token/i.test(name)) url.searchParams.set(name, "***");
  return url.href;
}
