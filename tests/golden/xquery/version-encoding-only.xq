xquery encoding "utf-8";
1
