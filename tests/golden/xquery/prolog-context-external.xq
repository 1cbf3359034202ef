declare context item as document-node() external;
/a
