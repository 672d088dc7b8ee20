import { Component, type ReactNode } from "react";
import { ErrorNote } from "../parts/states.tsx";

/** A page that crashes does not break anything else. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <ErrorNote
        error={this.state.error}
        title="This page could not be shown"
        retry={() => this.setState({ error: null })}
      />
    );
  }
}
