/** The metrics that a query names, each with the labels that its selectors ask for; of histograms and summaries their own names. */
export function metricsOf(query: string): { name: string; labels: string[] }[] {
  const found = query.matchAll(/\b((?:flotilla|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = "", selector = ""]) => ({
    name: name.replace(/_(bucket|sum|count)$/, ""),
    labels: [...selector.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
  }));
}
