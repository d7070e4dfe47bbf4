/** What tests use of React DOM, whose own types bring the types of a page. */
declare module "react-dom/client" {
  export function createRoot(container: unknown): { render(element: object): void; unmount(): void };
}
