/** The logo of the page. The same picture as flag.svg, in the colours of the theme. */

export function Flag() {
  return (
    <svg className="flag" viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">
      <path d="M5 2v20" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      <path d="M5 4h15l-4 4.5 4 4.5H5z" fill="var(--accent)" />
      <path d="M5 4h7v9H5z" fill="var(--flag)" />
    </svg>
  );
}
