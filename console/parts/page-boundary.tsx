import { Component, type ReactNode } from "react";
import { Failed } from "./states.tsx";

/** Says in the place of a page that it could not be loaded or drawn; what stands around it stays. */
export class PageBoundary extends Component<{ children: ReactNode }, { error?: unknown; hasFailed: boolean }> {
  override state: { error?: unknown; hasFailed: boolean } = { hasFailed: false };

  static getDerivedStateFromError(error: unknown): { error: unknown; hasFailed: boolean } {
    return { error, hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    // A newer server has other files: the page is loaded anew, not the file.
    return <Failed error={this.state.error} onRetry={() => location.reload()} isPage />;
  }
}
