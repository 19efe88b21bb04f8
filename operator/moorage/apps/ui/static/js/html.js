// Preact and htm, bound once: everything that draws imports from here.
import { Component, createContext, Fragment, h, render } from "../vendor/preact/preact.js";
import htm from "../vendor/htm/htm.js";

export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact/hooks.js";
export { Component, createContext, Fragment, h, render };

export const html = htm.bind(h);

/** Class names, those that are not false. */
export const classes = (...names) => names.filter(Boolean).join(" ");
