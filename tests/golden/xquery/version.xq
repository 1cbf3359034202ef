xquery version "3.1" encoding "utf-8";
1
