import { createElement, type FC, type SVGProps } from "react";

/** A shape of an icon: its SVG element and the attributes of it. */
export type IconShape = readonly [element: string, attributes: Readonly<Record<string, string>>];

/** What a picture in a button or a line takes: `size` in pixels (24 where none is given), and what any SVG does. */
export type IconProps = SVGProps<SVGSVGElement> & { readonly size?: number };

/** Makes a component of the shapes of an icon. Icons say nothing to a screen reader: the text beside them does. */
export const icon =
  (shapes: readonly IconShape[]): FC<IconProps> =>
  ({ size = 24, ...rest }) => (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      {...rest}
    >
      {shapes.map(([element, attributes], index) => createElement(element, { ...attributes, key: index }))}
    </svg>
  );
